// SPDX-License-Identifier: Apache-2.0
// Layout of the ring file: the shared memory a process records into, which
// outlives it. Written by record/, read after a crash by load/salvage. One
// header page, then regions: the journal, and one ring a thread.
//
// Who writes what: `head` and what stands beside it is the owning thread's, the
// drainer writes the line of `tail` (under overwrite the owner does). Position
// counts slots since the ring was made; the slot of position p is slots[p & (capacity - 1)].
#ifndef GAIT_FORMAT_RING_FILE_H
#define GAIT_FORMAT_RING_FILE_H

#include <stdint.h>

#include "format/slot.h"

#define RING_FILE_MAGIC UINT64_C(0x31474e4952544147) // "GATRING1"
#define RING_FILE_VERSION 1
#define RING_FILE_HEADER_BYTES 4096
#define RING_REGION_MAGIC UINT64_C(0x4e4f494745523147)
#define RING_ALIGN 64

enum ring_region_kind { RING_REGION_JOURNAL = 1, RING_REGION_RING = 2, RING_REGION_PAD = 3 };
enum ring_policy { RING_DROP = 0, RING_BLOCK = 1, RING_OVERWRITE = 2 };

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
    uint64_t used_bytes; // regions lie in [RING_FILE_HEADER_BYTES, used_bytes)
    uint64_t lost_ringless; // events of threads that got no ring
    struct ring_anchor anchors[2]; // the latest is anchors[anchor_count % 2]
    uint64_t anchor_count;
};

// In front of every region; the next one begins region_bytes further.
struct ring_region {
    uint64_t magic;
    uint32_t kind, track; // of a ring: the thread's track, 0 = in the pool
    uint64_t region_bytes;
    uint64_t capacity; // of a ring: slots, a power of two; of the journal: bytes
};

struct ring_head {
    struct ring_region region; // line 0: fixed while a thread owns the ring
    uint8_t spare0[64 - sizeof(struct ring_region)];

    // line 1: the owning thread
    uint64_t head;                  // slots published
    uint64_t lost;                  // events dropped here so far
    uint64_t lost_first, lost_last; // ticks of those not yet acknowledged
    uint64_t tail_events;           // overwrite: events begun before tail …
    uint64_t tail_depth;            // … and spans open there
    uint64_t first_tick;            // birth of the track
    uint64_t spare1;

    // line 2: the drainer (overwrite: tail is the owner's)
    uint64_t tail;         // slots below are no longer needed
    uint64_t lost_noticed; // how many of `lost` it has put on record
    uint64_t spare2[6];
}; // then the slots

struct journal_head {
    struct ring_region region;
    uint8_t spare0[64 - sizeof(struct ring_region)];
    uint64_t head, tail; // bytes; entries lie in [tail, head)
    uint64_t spare1[6];
}; // then the entries

#endif
