// SPDX-License-Identifier: Apache-2.0
// The ring file of one session, and the rings in it: given to a thread at its
// first record, taken back after its death. Layout: format/ring_file.h.
//
// Storage is reserved before it is mapped, so that a full disk is a failed
// call here and never a SIGBUS later. Callers hold the recorder's lock.
#ifndef GAIT_RECORD_RING_POOL_H
#define GAIT_RECORD_RING_POOL_H

#include <limits.h>
#include <stdbool.h>

#include <gait/error.h>

#include "base/os/os.h"
#include "format/ring_file.h"

#define RING_POOL_MAX_SEGMENTS 16384
#define RING_POOL_CLASSES 32

struct ring_pool_segment {
    uint8_t *memory;
    uint64_t bytes;
};

struct ring_pool {
    struct os_file file; // none: all memory is anonymous
    char path[PATH_MAX]; // "" without a file
    bool is_shared;      // the file lies in shared memory
    bool lost_on_kill;   // some memory is anonymous
    uint64_t ring_slots; // what a thread gets while there are few
    uint32_t live_count;
    uint64_t file_bytes, reserved_bytes;
    struct ring_file_header *header;
    struct journal_head *journal;
    struct ring_pool_segment *segments;
    uint32_t segment_count;
    uint8_t *carve, *carve_end; // of the newest segment
    bool carve_is_in_file;
    struct ring_head *free[RING_POOL_CLASSES]; // by log2 of capacity
};

// `directory` is used where shared memory has no room. Never fails for want of
// a file, only for want of memory.
GAIT_CHECK int ring_pool_init(struct ring_pool *pool, const uint8_t session[16],
                              uint64_t ring_slots, const char *directory);

// Gives file and memory back; whether the file's name goes too is the caller's
// choice: a forked child must leave its parent's. The addresses stay taken, as
// empty pages: a thread that lost its processor between reading its ring's
// address and looking into it may wake up any number of sessions later.
void ring_pool_finish(struct ring_pool *pool, bool is_unlinked);

// A ring for `track`, or NULL when the pool's maximum is reached.
struct ring_head *ring_pool_take(struct ring_pool *pool, uint32_t track, uint64_t tick);
void ring_pool_give(struct ring_pool *pool, struct ring_head *ring);

static inline struct slot *ring_pool_slots(struct ring_head *ring)
{
    return (struct slot *)(ring + 1);
}

#endif
