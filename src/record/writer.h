// SPDX-License-Identifier: Apache-2.0
// One thread's end of its ring. The hot calls (hot_calls.c) touch one cache line,
// the ring's, and compare once, against its limit; everything rare, from a
// thread's first record to a full ring, is behind that compare in writer.c.
//
// The limit is set so that every span begun before it can still be ended: a
// record that has begun can always be ended, so an event is either on record
// or dropped.
#ifndef GAIT_RECORD_WRITER_H
#define GAIT_RECORD_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "format/ring_file.h"
#include "format/span_builder.h"

#define WRITER_SYNCS 64
#define WRITER_PAST 16
#define WRITER_OWED 64
#define WRITER_TLS __attribute__((tls_model("initial-exec"))) _Thread_local

enum writer_step { WRITER_STEP_NONE, WRITER_STEP_ON_RECORD, WRITER_STEP_DROPPED };

struct writer {
    struct ring_head *ring; // &ringless when the pool was empty
    struct slot *slots;     // NULL then
    uint64_t capacity;      // slots
    uint64_t session;
    uint32_t track;
    enum ring_policy policy;

    // --- the owner's
    uint64_t granted_at;           // address up to which `position` has been counted
    uint64_t position;             // of granted_at
    uint64_t points, point_slots;  // events that are no spans, and all slots that are no span's
    uint64_t gaps;                 // spans open since the oldest dropped one, innermost in bit 0:
    uint32_t gap_depth;            // 1 = dropped, 0 = on record; so many of them
    uint64_t deep;                 // dropped spans above these 64
    uint64_t owed;                 // ends that are still to be written, and when they
    uint64_t owed_at[WRITER_OWED]; // were made; what is beyond has the last one's time
    enum writer_step step;
    uint32_t is_inside;      // in the slow path; stop waits for it
    bool is_waiting;         // block: for the drainer, however little the ring holds
    struct ring_tail *syncs; // overwrite only: a queue of tails to come
    uint32_t sync_first, sync_count;
    struct ring_head ringless;
    struct ring_head **self; // the owner's writer_ring, for stop

    // --- the drainer's
    struct writer *next; // list of the session
    struct span_builder_track builder;
    uint64_t lost_before;               // of builder.lost, should the batch not be written
    struct span_builder_loss discarded; // that no disk would take, or nobody could read
    uint64_t discarded_told;            // of them, in the batch
    uint64_t told_until;                // overwrite: tick up to which the ring has been taken
    struct ring_tail past[WRITER_PAST]; // else: tails before this one, the latest is
    uint32_t past_count;                // past[(past_count - 1) % WRITER_PAST]
    uint64_t batch_events, batch_first, batch_last;

    // --- under the lock
    char key[24], *name; // of the track; name may be NULL
    int64_t tid;
    bool is_named;  // by itself
    bool is_dead;   // its thread ended
    bool is_listed; // one of the recorder's writers, which the drainer reads
};

// The calling thread's ring, never NULL: one without room before its first
// record and when not recording.
extern WRITER_TLS struct ring_head *writer_ring;
extern struct ring_head writer_nowhere;
extern WRITER_TLS struct writer *writer_self; // NULL before the first record
extern uint64_t writer_session;               // being recorded, 0 when off

// Slow forms of the hot calls.
void writer_begin_slow(uint32_t site);
void writer_end_slow(void);
void writer_next_slow(uint32_t site);

// Enters for a record that is not a span's: `slots` in a row at the returned
// place, or NULL. With `is_event` a refusal counts as a lost event. Everything
// up to writer_publish() is one piece to signal handlers.
struct slot *writer_enter(uint32_t slots, bool is_event);

// Publishes the slots that were entered for.
void writer_publish(uint32_t slots, bool is_event);

// The calling thread's writer in the session at hand, or NULL.
struct writer *writer_attached(void);

void writer_lose(struct writer *writer);

// Writes the ends that are owed where the owner will not: its thread has ended, or
// the session. True if there were any, to be drained now.
bool writer_pay_for_owner(struct writer *writer);

// A step ends, one begins; see record.h.
void writer_step_end(void);
void writer_step_begin(uint64_t number);

// Gives `writer` a ring (NULL: none left) under `track` in session `session`.
void writer_attach(struct writer *writer, struct ring_head *ring, uint32_t track,
                   enum ring_policy policy, uint64_t session);

// Positions, for the drainer and for whoever looks on.
uint64_t writer_head(const struct writer *writer, uint64_t tail);

// What another thread may look at, or take away, at any time: a plain move to
// the processor, said to be one to whoever checks.
#define WRITER_GET(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define WRITER_SET(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELEASE)

static inline void writer_fence(void)
{
    __asm__ volatile("" ::: "memory");
}

#endif
