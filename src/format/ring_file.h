// SPDX-License-Identifier: Apache-2.0
// Layout of the ring file: the shared memory a process records into, which
// outlives it. Written by record/, read after a crash by load/salvage. One
// header page, then regions: the journal, and one ring a thread.
//
// Position counts slots since a thread got the ring; the slot of position p is
// slots[p & (capacity - 1)].
#ifndef GAIT_FORMAT_RING_FILE_H
#define GAIT_FORMAT_RING_FILE_H

#include <stdint.h>

#include "format/slot.h"

#define RING_FILE_MAGIC UINT64_C(0x31474e4952544147) // "GATRING1"
#define RING_FILE_VERSION 1
#define RING_FILE_HEADER_BYTES 4096
#define RING_REGION_MAGIC UINT64_C(0x4e4f494745523147)
#define RING_FILE_SHARED_MEMORY "/dev/shm" // where they lie, if there is room

enum ring_region_kind { RING_REGION_JOURNAL = 1, RING_REGION_RING = 2, RING_REGION_PAD = 3 };
enum ring_policy { RING_DROP = 0, RING_BLOCK = 1, RING_OVERWRITE = 2 };

// Why events are lost: the ids of these texts in the string table of every
// shard, so that a reader of the ring file needs no table.
enum ring_loss {
    RING_LOSS_FULL = 1,
    RING_LOSS_OVERWRITTEN,
    RING_LOSS_DISK_FULL,
    RING_LOSS_NO_RING,
    RING_LOSS_DAMAGED,
    RING_LOSS_END,
};

// A point on both time lines; see FORMAT.md section 5.
struct ring_anchor {
    uint64_t tick;
    int64_t raw_ns, real_ns;
    uint64_t error_ns;
};

struct ring_file_header {
    uint64_t magic;
    uint32_t version, policy;
    uint8_t session[16];
    int64_t pid, process_start; // start time as the system counts it
    uint64_t tick_hz;
    uint64_t used_bytes;           // regions lie in [RING_FILE_HEADER_BYTES, used_bytes)
    uint64_t lost_ringless;        // events of threads that nothing else could count
    struct ring_anchor anchors[2]; // the latest is anchors[anchor_count % 2]
    uint64_t anchor_count;
    uint64_t pid_namespace; // in which `pid` counts; 0: not known
    char shard_path[3840];  // absolute; "" where not known
    uint64_t asked_steps;   // `gait trigger` adds, the process takes; see trigger.c
};
_Static_assert(sizeof(struct ring_file_header) <= RING_FILE_HEADER_BYTES, "one page");

// In front of every region; the next one begins region_bytes further.
struct ring_region {
    uint64_t magic;
    uint32_t kind, track; // of a ring: the thread's track, 0 = in the pool
    uint64_t region_bytes;
    uint64_t capacity; // of a ring: slots, a power of two; of the journal: bytes
};

// A place where a record starts and the story can be taken up.
struct ring_tail {
    uint64_t position; // slots below are no longer needed
    uint64_t events;   // begun below it
    uint64_t depth;    // spans open there
    uint64_t tick;     // when that was
};

struct ring_head {
    // line 0: fixed while a thread owns the ring
    struct ring_region region;
    uint64_t slots_address; // where the owner has the slots mapped
    uint64_t first_tick;    // birth of the track
    uint64_t spare0[2];

    // line 1: the owning thread, on every record
    uint64_t next;                  // address of the slot that comes next: all before are published
    uint64_t limit;                 // address where the owner must ask for room
    uint64_t ends, nexts;           // records of these kinds ever written
    uint64_t busy;                  // a record is being written
    uint64_t lost;                  // events dropped here so far
    uint64_t lost_first, lost_last; // ticks of those not yet acknowledged

    // line 2: the drainer
    uint64_t lost_noticed; // how many of `lost` it has put on record
    uint64_t unbalanced;   // ends it met without a begin
    uint64_t spare2[6];

    // line 3, 4: the drainer (overwrite: the owner)
    uint64_t tail;             // position of the latest tail, or of the one before
    uint64_t tail_count;       // the latest is tails[tail_count % 2]
    struct ring_tail tails[2]; // two, so that one is whole whenever somebody looks
    uint64_t spare3[6];
}; // then the slots

// Moves the tail; the one who owns it.
static inline void ring_head_move_tail(struct ring_head *ring, const struct ring_tail *to)
{
    uint64_t count = ring->tail_count + 1;
    struct ring_tail *tail = &ring->tails[count % 2];
    __atomic_store_n(&tail->position, to->position, __ATOMIC_RELAXED);
    __atomic_store_n(&tail->events, to->events, __ATOMIC_RELAXED);
    __atomic_store_n(&tail->depth, to->depth, __ATOMIC_RELAXED);
    __atomic_store_n(&tail->tick, to->tick, __ATOMIC_RELAXED);
    __atomic_store_n(&ring->tail_count, count, __ATOMIC_RELEASE);
    __atomic_store_n(&ring->tail, to->position, __ATOMIC_RELEASE);
}

// The latest tail, whole; anybody, also from a copy of the head.
static inline struct ring_tail ring_head_tail(const struct ring_head *ring)
{
    struct ring_tail tail;
    uint64_t count;
    do {
        count = __atomic_load_n(&ring->tail_count, __ATOMIC_ACQUIRE);
        const struct ring_tail *latest = &ring->tails[count % 2];
        tail.position = __atomic_load_n(&latest->position, __ATOMIC_RELAXED);
        tail.events = __atomic_load_n(&latest->events, __ATOMIC_RELAXED);
        tail.depth = __atomic_load_n(&latest->depth, __ATOMIC_RELAXED);
        tail.tick = __atomic_load_n(&latest->tick, __ATOMIC_ACQUIRE);
    } while (__atomic_load_n(&ring->tail_count, __ATOMIC_ACQUIRE) != count);
    return tail;
}

// Position behind the last published slot. A ring never holds a full lap, so
// the address and the tail say it; for a live ring under overwrite, read the
// tail again afterwards and ask anew if it moved.
static inline uint64_t ring_head_position(uint64_t next, uint64_t slots_address, uint64_t tail,
                                          uint64_t capacity)
{
    uint64_t index = (next - slots_address) / sizeof(struct slot);
    return tail + ((index - tail) & (capacity - 1));
}

struct journal_head {
    struct ring_region region;
    uint8_t spare0[64 - sizeof(struct ring_region)];
    uint64_t head, tail; // bytes; entries lie in [tail, head)
    uint64_t spare1[6];
}; // then the entries

#endif
