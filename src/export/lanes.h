// SPDX-License-Identifier: Apache-2.0
// Lanes for the spans of one track: other tools draw a lane as a stack, so two
// spans that overlap without one holding the other need a lane each. Spans
// come in order of start. Memory follows the spans that overlap at one time.
#ifndef GAIT_EXPORT_LANES_H
#define GAIT_EXPORT_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/error.h>

#include "base/index/min_heap.h"

// The first lanes nest: a span lies in another. The others hold one span at a
// time, so that finding a place stays cheap however many overlap.
#define LANES_NESTED 4
#define LANES_OPEN INT64_MAX

struct lane_span {
    int64_t start, end; // end LANES_OPEN: never
    uint32_t depth;     // where its recorder saw it: 0 is outermost
};

// Of an event: a duration below 0 is open; one past the end of time ends there.
static inline struct lane_span lanes_span(int64_t start, int64_t duration, uint32_t depth)
{
    int64_t end;
    if (duration < 0)
        end = LANES_OPEN;
    else if (__builtin_add_overflow(start, duration, &end))
        end = LANES_OPEN - 1;
    return (struct lane_span){start, end, depth};
}

// One nesting lane: the spans that are open, outermost first.
struct lane_nest {
    struct lane_span *spans;
    size_t count, capacity;
    int64_t free_from;
};

struct lanes {
    struct lane_nest nests[LANES_NESTED];
    struct min_heap busy, idle; // by end, by number
    uint32_t flat_count;
    bool is_flat;
};

// Told when a span of a nesting lane is over, inner ones first. Spans of other
// lanes are not told: a place there is known to be free when it is given.
typedef void lanes_ended(void *context, uint32_t lane, int64_t end);
struct lanes_listener {
    lanes_ended *ended; // may be NULL
    void *context;
};

// is_flat: no lane nests; all spans are on their own.
void lanes_init(struct lanes *lanes, bool is_flat);
void lanes_finish(struct lanes *lanes); // takes a zeroed struct

static inline bool lanes_nests(const struct lanes *lanes, uint32_t lane)
{
    return !lanes->is_flat && lane < LANES_NESTED;
}

// Finds a lane for a span and takes it.
GAIT_CHECK int lanes_place(struct lanes *lanes, const struct lane_span *span,
                           const struct lanes_listener *listener, uint32_t *ret_lane);

// Tells the ends that are left; open spans have none.
void lanes_end_all(struct lanes *lanes, const struct lanes_listener *listener);

#endif
