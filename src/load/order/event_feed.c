// SPDX-License-Identifier: Apache-2.0
#include "load/order/event_feed.h"

#include <stdlib.h>

#include "base/fail.h"
#include "load/shard_owner.h"

static int fetch(struct event_feed *feed)
{
    const int is_more = gait_cursor_next(feed->cursor, &feed->due);
    feed->has_due = is_more == 1;
    return is_more < 0 ? is_more : GAIT_OK;
}

static int start(struct event_feed *feed, struct gait_trace *trace, const struct gait_query *query)
{
    const int status = gait_cursor_open(trace, query, &feed->cursor);
    return status ? status : fetch(feed);
}

int each_event(struct gait_trace *trace, const struct gait_query *query, event_visit *visit,
               void *context)
{
    struct event_feed feed = {.cursor = NULL};
    int status = start(&feed, trace, query);
    if (!status)
        status = event_feed_until(&feed, INT64_MAX, visit, context);
    event_feed_close(&feed);
    return status;
}

// Where the rank has no tracks nothing is opened, for no tracks are all.
int event_feed_open(struct event_feed *feed, struct gait_trace *trace, uint32_t shard,
                    const struct gait_query *query)
{
    const struct track_table *all = &trace->run.tracks;
    uint32_t *tracks = malloc((all->count + 1) * sizeof *tracks);
    struct gait_query of_rank = *query;
    if (!tracks)
        return fail(GAIT_ERR_MEMORY, "no memory for the tracks of a process");
    of_rank.tracks = tracks;
    of_rank.track_count = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct gait_track_info *info = &all->tracks[i].info;
        if ((query->internal || !info->internal) && shard_owner(trace, info->shard) == shard)
            tracks[of_rank.track_count++] = i;
    }
    const int status = of_rank.track_count ? start(feed, trace, &of_rank) : GAIT_OK;
    free(tracks);
    return status;
}

void event_feed_close(struct event_feed *feed)
{
    gait_cursor_close(feed->cursor);
    *feed = (struct event_feed){.cursor = NULL};
}

int event_feed_until(struct event_feed *feed, int64_t until_ns, event_visit *visit, void *context)
{
    int status = GAIT_OK;
    while (!status && feed->has_due && (feed->due.start_ns < until_ns || until_ns == INT64_MAX)) {
        status = visit(context, &feed->due);
        if (!status)
            status = fetch(feed);
    }
    return status;
}
