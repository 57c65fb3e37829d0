// SPDX-License-Identifier: Apache-2.0
// The one recorder of a process: its session, its threads' writers, its ring
// pool. Cold paths only, under one lock; the drainer (drainer_thread.h) shares it.
#ifndef GAIT_RECORD_RECORDER_H
#define GAIT_RECORD_RECORDER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "format/journal.h"
#include "record/birth.h"
#include "record/ring_pool.h"
#include "record/settings.h"
#include "record/writer.h"
#include "shard/shard_out.h"

struct snapshot_request;

struct recorder {
    pthread_mutex_t lock;
    pthread_cond_t drained; // a round ended

    // under the lock
    struct settings settings;
    uint64_t session_count; // sessions ever begun; the running one's number
    bool is_forked;         // child of a recording process that has not begun its own
    struct ring_pool pool;
    struct writer *writers;
    uint32_t next_track, dead_count;
    uint64_t flush_wanted, flush_done;
    struct snapshot_request *snapshot; // one that waits for the drainer
    bool must_retell;                  // rows of names found no room in the journal
    bool is_stopping;
    bool is_disk_full;  // the last batch could not be written
    bool is_incomplete; // at the end: the ring file has what the shard lacks

    // the drainer's
    pthread_t drainer;
    bool has_drainer;
    struct shard_out shard;
    uint8_t session_id[16];
    struct clock_anchor first_anchor;
    struct birth birth; // of the process; known in its first session only
    pid_t born_pid;     // whose session knew it

    // atomic, any thread
    bool is_main_gone;   // the process's first thread has ended, others go on
    void (*begun)(void); // gait_on_thread(); may be NULL
    uint32_t wake;       // 1: the drainer has something to do
    uint32_t round;      // counts the drainer's rounds
};

extern struct recorder recorder_state;

// The writer of the calling thread in the session at hand; `writer` is its
// writer of an earlier session or NULL. NULL when not recording.
struct writer *recorder_attach_thread(struct writer *writer);

// An event of a thread that could not be given a writer is lost.
void recorder_lose(void);

void recorder_free_writer(struct writer *writer);

void recorder_lock(void);
void recorder_unlock(void);

// Puts a thread's track on record under `name`; the lock is held.
void recorder_name_track(struct writer *writer, const char *name);
struct journal_row recorder_track_row(const struct writer *writer);

// Puts a row on record, waiting a little for room, with the lock held. What
// finds none is told again from where it is kept, see rewrite_names.h.
void recorder_journal_locked(const struct journal_row *row);

void recorder_wake_drainer(void);
void recorder_wait_locked(void); // for the drainer's next word, a while
uint32_t recorder_drain_round(void);
void recorder_wait_drained(uint32_t round, uint64_t timeout_ns);

// Has the drainer write everything recorded so far and waits for it. The lock
// is held by the caller and let go meanwhile.
void recorder_flush_locked(void);

#endif
