// SPDX-License-Identifier: Apache-2.0
// What a row says that a device or the host did: the lanes that sweeps over time have. Of what
// happens together the first counts: a device that computes is not idle, and a thread that
// waits for its batch in an op waits.
#ifndef GAIT_ANALYSE_ACTIVITY_H
#define GAIT_ANALYSE_ACTIVITY_H

#include <stdint.h>

#include <gait/trace.h>

#include "facts/feed.h"
#include "vocabulary/roles.h"

// X(identifier, "id"), behind the lanes of devices (enum device_lane).
#define HOST_ACTIVITIES(X)                                                                         \
    X(INPUT, "input")       /* the next batch is waited for */                                     \
    X(BLOCKING, "blocking") /* a call that returns when the device is done */                      \
    X(ALLOC, "alloc")       /* memory of a device is taken or given back */                        \
    X(LAUNCH, "launch")     /* any other call of the runtime */                                    \
    X(OP, "op")                                                                                    \
    X(PYTHON, "python")

enum activity {
    ACTIVITY_BEFORE = LANE_COUNT - 1,
#define X(identifier, id) ACTIVITY_##identifier,
    HOST_ACTIVITIES(X)
#undef X
        ACTIVITY_COUNT,
    // no lanes: rows that tell when something is
    ACTIVITY_STEP = ACTIVITY_COUNT,
    ACTIVITY_PHASE,
    ACTIVITY_COPY_CALL, // a call that copies: it blocks where it lasts long
    ACTIVITY_KINDS
};
_Static_assert((int)ACTIVITY_KINDS <= (int)FEED_KINDS, "each is a kind of a feed");

// A call that copies and lasts a millisecond waited for its copy (pageable memory does that).
enum { COPY_BLOCKS_NS = 1000000 };

enum { DEVICE_UNNUMBERED = -1 };

// The number of the device that a track is of.
int32_t activity_device(const struct gait_trace *trace, uint32_t track);

// What a row is; of a call that copies its length tells.
static inline unsigned activity_of_row(const struct feed_head *head)
{
    const unsigned copying =
        head->end_ns - head->start_ns >= COPY_BLOCKS_NS ? ACTIVITY_BLOCKING : ACTIVITY_LAUNCH;
    return head->kind == ACTIVITY_COPY_CALL ? copying : head->kind;
}

// Of each site of the trace; who is done frees it.
GAIT_CHECK int activities_find(const struct gait_trace *trace, uint8_t **ret_kinds);

#endif
