// SPDX-License-Identifier: Apache-2.0
// Which events a query wants.
#ifndef GAIT_LOAD_EVENT_FILTER_H
#define GAIT_LOAD_EVENT_FILTER_H

#include "load/run.h"

struct event_filter {
    const struct run *run;
    uint32_t kinds;            // bits 1u << GAIT_KIND_…
    int64_t since_ns, last_ns; // both are within
    uint8_t *wanted;           // by track
    uint8_t *shards;           // that have such a track
};

// NULL for `query` asks for everything but gait's own tracks.
GAIT_CHECK int event_filter_init(struct event_filter *filter, const struct run *run,
                                 const struct gait_query *query);
void event_filter_finish(struct event_filter *filter); // takes NULL and a zeroed struct

// Whether a frame may hold an event that is wanted.
bool event_filter_wants_frame(const struct event_filter *filter, const struct run_shard *shard,
                              size_t frame);

// Whether all rows of a frame lie within the time asked for.
bool event_filter_covers_frame(const struct event_filter *filter, const struct run_shard *shard,
                               size_t frame);

// Whether an event touches the time asked for; duration_ns -1: it never ends.
static inline bool event_filter_touches(const struct event_filter *filter, int64_t start_ns,
                                        int64_t duration_ns)
{
    if (start_ns > filter->last_ns)
        return false;
    if (start_ns >= filter->since_ns || duration_ns < 0)
        return true;
    return (uint64_t)duration_ns > (uint64_t)filter->since_ns - (uint64_t)start_ns;
}

#endif
