// SPDX-License-Identifier: Apache-2.0
// The lanes of a rank, numbered as they are met: depths of tracks, and counters of tracks.
#ifndef GAIT_FACTS_LOD_LANES_H
#define GAIT_FACTS_LOD_LANES_H

#include <gait/error.h>

#include "base/index/hash_index.h"
#include "facts/lod_row.h"

struct lod_track { // its lanes by depth: 1 + number, 0 for none
    uint32_t *lanes;
    size_t count;
};

struct lod_lanes { // zeroed: none
    struct lod_lane *rows;
    size_t count, capacity;
    struct lod_track *tracks;
    size_t track_count;
    struct hash_index counters;
};

GAIT_CHECK int lod_lanes_init(struct lod_lanes *lanes, size_t track_count);
void lod_lanes_finish(struct lod_lanes *lanes); // takes a zeroed struct

GAIT_CHECK int lod_lanes_depth(struct lod_lanes *lanes, uint32_t track, uint32_t depth,
                               uint32_t *ret_lane);
GAIT_CHECK int lod_lanes_counter(struct lod_lanes *lanes, uint32_t track, uint32_t site,
                                 uint32_t *ret_lane);

// One more span, or value, of the lane.
static inline void lod_lanes_count(struct lod_lanes *lanes, uint32_t number, int64_t start_ns,
                                   int64_t end_ns)
{
    struct lod_lane *lane = &lanes->rows[number];
    lane->spans++;
    lane->start_ns = start_ns < lane->start_ns ? start_ns : lane->start_ns;
    lane->end_ns = end_ns > lane->end_ns ? end_ns : lane->end_ns;
}

#endif
