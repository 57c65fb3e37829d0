// SPDX-License-Identifier: Apache-2.0
// One thread's end of its ring. The hot calls (calls.c) work on the first
// cache line alone and compare once against `limit`; everything rare, from a
// thread's first record to a full ring, is behind it in writer.c.
//
// Room is kept for the end of every open span and of the step: a record that
// has begun can always be ended, so an event is either on record or dropped.
#ifndef GAIT_RECORD_WRITER_H
#define GAIT_RECORD_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "format/ring_file.h"
#include "format/weave.h"

#define WRITER_BUSY (UINT64_C(1) << 63) // in `state`: inside a call
#define WRITER_SYNCS 64

// Overwrite: a place where a record starts and the story can be taken up.
struct writer_sync {
    uint64_t position, events, depth, tick;
};

struct writer {
    // --- hot: the owner's alone, `state` is also read by stop
    struct slot *slots;
    uint64_t mask;
    uint64_t head;
    uint64_t limit; // a begin needs head + open < limit
    uint64_t open;  // spans on record and not ended
    struct ring_head *ring;
    uint64_t state;   // session number, WRITER_BUSY while inside a call
    uint64_t special; // some open span is not on record, see gaps

    // --- the owner's, rarely touched
    uint64_t nexts, points, point_slots; // for counting what is overwritten
    uint64_t gaps;                       // bit i: the open span at level i was dropped
    uint64_t deep;                       // dropped spans above level 63
    uint64_t unbalanced;                 // ends without a begin
    enum { STEP_NONE, STEP_ON_RECORD, STEP_DROPPED } step;
    uint32_t track;
    enum ring_policy policy;
    struct writer_sync *syncs; // overwrite only; a queue
    uint32_t sync_first, sync_count;
    struct ring_head ringless; // stands in when the pool is empty

    // --- the drainer's
    struct writer *next; // list of the session
    struct weave_track weave;
    uint64_t lost_before; // of weave.lost, should the batch not be written
    struct weave_loss discarded; // that no disk would take
    uint64_t batch_events, batch_first, batch_last;
    bool is_dead; // under the lock: its thread ended
};

// The calling thread's writer, NULL before its first record.
extern __attribute__((tls_model("initial-exec"))) _Thread_local struct writer *writer_self;
// Number of the session being recorded, 0 when off.
extern uint64_t writer_session;

// Slow forms of the hot calls. `writer` is what writer_enter() gave: NULL, or
// entered and to be left.
void writer_begin_slow(struct writer *writer, uint32_t site);
void writer_end_slow(struct writer *writer);
void writer_next_slow(struct writer *writer, uint32_t site);

// Room for a record of `slots` slots beyond what is reserved, by the policy;
// false: count it with writer_lose().
bool writer_room(struct writer *writer, uint32_t slots);
void writer_lose(struct writer *writer);

// Enters from anywhere: makes a writer for a new thread, starts the session of
// a forked child. NULL: not recording, or this is a signal handler that
// interrupted a call (then the event has been counted as lost).
struct writer *writer_enter_slow(void);

// Begins `ring` (NULL: none left) under `track` in session `session`.
void writer_attach(struct writer *writer, struct ring_head *ring, uint32_t track,
                   enum ring_policy policy, uint64_t session);

static inline void writer_fence(void)
{
    __asm__ volatile("" ::: "memory");
}

// The quick way in: a thread that has recorded before, in this session.
static inline struct writer *writer_enter(void)
{
    struct writer *writer = writer_self;
    if (__builtin_expect(!writer, 0))
        return NULL;
    uint64_t state = writer->state;
    if (__builtin_expect(state != __atomic_load_n(&writer_session, __ATOMIC_RELAXED), 0))
        return NULL;
    // busy is set before the session is looked at again: whoever ends the
    // session makes every thread pass a barrier and then waits for busy
    __atomic_store_n(&writer->state, state | WRITER_BUSY, __ATOMIC_RELAXED);
    writer_fence();
    if (__builtin_expect(state != __atomic_load_n(&writer_session, __ATOMIC_RELAXED), 0)) {
        __atomic_store_n(&writer->state, state, __ATOMIC_RELEASE);
        return NULL;
    }
    return writer;
}

static inline void writer_leave(struct writer *writer)
{
    writer_fence();
    __atomic_store_n(&writer->state, writer->state & ~WRITER_BUSY, __ATOMIC_RELEASE);
}

// Writes one slot and publishes it; there is room.
static inline void writer_put(struct writer *writer, uint64_t tick, uint64_t word)
{
    uint64_t head = writer->head;
    struct slot *slot = &writer->slots[head & writer->mask];
    slot->tick = tick;
    slot->word = word;
    writer->head = head + 1;
    __atomic_store_n(&writer->ring->head, head + 1, __ATOMIC_RELEASE);
}

#endif
