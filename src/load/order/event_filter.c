// SPDX-License-Identifier: Apache-2.0
// Which events a query wants.
#include "load/order/event_filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "load/order/event_table.h"

static int want_listed(struct event_filter *filter, const struct gait_query *query)
{
    for (uint32_t i = 0; i < query->track_count; i++) {
        if (query->tracks[i] >= filter->run->tracks.count)
            return fail(GAIT_ERR_MISSING, "track %u does not exist", query->tracks[i]);
        filter->wanted[query->tracks[i]] = 1;
        filter->shards[filter->run->tracks.tracks[query->tracks[i]].info.shard] = 1;
    }
    return 0;
}

static void want_all(struct event_filter *filter, bool internal)
{
    for (size_t i = 0; i < filter->run->tracks.count; i++)
        filter->wanted[i] = internal || !filter->run->tracks.tracks[i].info.internal;
    memset(filter->shards, 1, filter->run->shard_count);
}

int event_filter_init(struct event_filter *filter, const struct run *run,
                      const struct gait_query *query)
{
    static const struct gait_query everything = {.size = sizeof(everything)};
    int status = 0;

    if (!query)
        query = &everything;
    if (query->size != sizeof(*query))
        return fail(GAIT_ERR_ARGUMENT, "gait_query.size is %zu; it must be %zu", query->size,
                    sizeof(*query));
    *filter = (struct event_filter){
        .run = run,
        .kinds = query->kinds ? query->kinds : UINT32_MAX,
        .since_ns = query->since_ns ? query->since_ns : INT64_MIN,
        .last_ns = query->until_ns ? query->until_ns - (query->until_ns > INT64_MIN) : INT64_MAX,
        .wanted = calloc(run->tracks.count + run->shard_count + 1, 1),
    };
    if (!filter->wanted)
        return fail(GAIT_ERR_MEMORY, "no memory for a query");
    filter->shards = filter->wanted + run->tracks.count;
    if (query->tracks)
        status = want_listed(filter, query);
    else
        want_all(filter, query->internal != 0);
    if (status)
        event_filter_finish(filter);
    return status;
}

void event_filter_finish(struct event_filter *filter)
{
    if (!filter)
        return;
    free(filter->wanted);
    filter->wanted = NULL;
}

static const struct track *track_of(const struct event_filter *filter,
                                    const struct run_shard *shard, size_t frame,
                                    uint32_t *ret_number)
{
    uint32_t id = shard->shard.list.entries[frame].track;

    *ret_number = id_map_get(&shard->dictionary.tracks, id) - 1;
    return &filter->run->tracks.tracks[*ret_number];
}

bool event_filter_wants_frame(const struct event_filter *filter, const struct run_shard *shard,
                              size_t frame)
{
    const struct frame_entry *entry = &shard->shard.list.entries[frame];
    const struct event_table *table = event_table_of(entry->table);
    uint32_t number;

    if (!table || !(filter->kinds & 1u << table->kind) || !shard_has_frame(&shard->shard, frame))
        return false;
    const struct track *track = track_of(filter, shard, frame, &number);
    // the partner of an asynchronous row may stand on any track at any time
    if (table->kind == GAIT_KIND_ASYNC)
        return true;
    return filter->wanted[number] && clock_map_ns(track->map, entry->last) >= filter->since_ns &&
           clock_map_ns(track->map, entry->first) <= filter->last_ns;
}

bool event_filter_covers_frame(const struct event_filter *filter, const struct run_shard *shard,
                               size_t frame)
{
    const struct frame_entry *entry = &shard->shard.list.entries[frame];
    uint32_t number;

    if (filter->since_ns == INT64_MIN && filter->last_ns == INT64_MAX)
        return true;
    const struct track *track = track_of(filter, shard, frame, &number);
    return clock_map_ns(track->map, entry->first) >= filter->since_ns &&
           clock_map_ns(track->map, entry->last) <= filter->last_ns;
}
