// SPDX-License-Identifier: Apache-2.0
// The events of a query, in order of time, to a visitor: all in one go, or those of a rank up to
// a time, as who reads slices of spans wants what is no span between them.
#ifndef GAIT_LOAD_EVENT_FEED_H
#define GAIT_LOAD_EVENT_FEED_H

#include <stdbool.h>

#include <gait/trace.h>

typedef int event_visit(void *context, const struct gait_event *event); // not 0 stops

GAIT_CHECK int each_event(struct gait_trace *trace, const struct gait_query *query,
                          event_visit *visit, void *context);

struct event_feed { // zeroed: there are none
    struct gait_cursor *cursor;
    struct gait_event due; // the next one
    bool has_due;
};

// Of the rank that owns that shard, whatever tracks the query has.
GAIT_CHECK int event_feed_open(struct event_feed *feed, struct gait_trace *trace, uint32_t shard,
                               const struct gait_query *query);
void event_feed_close(struct event_feed *feed); // takes a zeroed struct

// Those that start before then and were not shown yet; INT64_MAX: all that are left.
GAIT_CHECK int event_feed_until(struct event_feed *feed, int64_t until_ns, event_visit *visit,
                                void *context);

#endif
