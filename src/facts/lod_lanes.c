// SPDX-License-Identifier: Apache-2.0
#include "facts/lod_lanes.h"

#include <stdlib.h>

#include <gait/trace.h>

#include "base/array.h"
#include "base/fail.h"

enum { MOST_LANES = 1 << 24, FIRST_ROOM = 16 };

int lod_lanes_init(struct lod_lanes *lanes, size_t track_count)
{
    *lanes = (struct lod_lanes){.track_count = track_count,
                                .tracks = calloc(track_count + 1, sizeof *lanes->tracks)};
    return lanes->tracks ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for %zu tracks", track_count);
}

void lod_lanes_finish(struct lod_lanes *lanes)
{
    for (size_t i = 0; lanes->tracks && i < lanes->track_count; i++)
        free(lanes->tracks[i].lanes);
    hash_index_finish(&lanes->counters);
    free(lanes->tracks);
    free(lanes->rows);
}

static int add(struct lod_lanes *lanes, uint32_t track, uint32_t depth, uint32_t counter)
{
    const struct lod_lane lane = {.track = track,
                                  .depth = depth,
                                  .counter = counter,
                                  .start_ns = INT64_MAX,
                                  .end_ns = INT64_MIN};
    return ARRAY_ADD(lanes->rows, lanes->count, lanes->capacity, MOST_LANES, &lane);
}

int lod_lanes_depth(struct lod_lanes *lanes, uint32_t track, uint32_t depth, uint32_t *ret_lane)
{
    struct lod_track *of = &lanes->tracks[track];
    const uint32_t at = depth < LOD_MOST_DEPTH ? depth : LOD_MOST_DEPTH;
    int status = GAIT_OK;
    if (at >= of->count) {
        const struct array_shape shape = {sizeof *of->lanes, LOD_MOST_DEPTH + 1};
        status = array_reserve_zeroed((void **)&of->lanes, &of->count, (size_t)at + 1, shape);
    }
    if (!status && !of->lanes[at]) {
        status = add(lanes, track, at, GAIT_NO_SITE);
        of->lanes[at] = status ? 0 : (uint32_t)lanes->count;
    }
    *ret_lane = status ? 0 : of->lanes[at] - 1;
    return status;
}

int lod_lanes_counter(struct lod_lanes *lanes, uint32_t track, uint32_t site, uint32_t *ret_lane)
{
    struct hash_index *index = &lanes->counters;
    const uint32_t hash = (uint32_t)hash_mix(track, site);
    int status = hash_index_reserve(index, FIRST_ROOM);
    if (status)
        return status;
    size_t at = hash_index_first(index, hash);
    for (; index->places[at].row; at = hash_index_next(index, at)) {
        const struct lod_lane *lane = &lanes->rows[index->places[at].row - 1];
        if (lane->track != track || lane->counter != site)
            continue;
        *ret_lane = index->places[at].row - 1;
        return GAIT_OK;
    }
    *ret_lane = (uint32_t)lanes->count;
    status = add(lanes, track, 0, site);
    if (!status)
        hash_index_put(index, at, hash, *ret_lane);
    return status;
}
