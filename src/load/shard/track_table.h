// SPDX-License-Identifier: Apache-2.0
// The tracks of a whole trace, shard after shard.
#ifndef GAIT_LOAD_TRACK_TABLE_H
#define GAIT_LOAD_TRACK_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include <gait/trace.h>

struct clock_map;

struct track {
    struct gait_track_info info;
    const struct clock_map *map; // of its clock; belongs to its shard
    uint32_t id;                 // in its shard
    uint32_t clock;
    uint32_t parent; // its id; 0: none
};

struct track_table {
    struct track *tracks;
    size_t count, capacity;
};

void track_table_finish(struct track_table *table); // takes NULL and a zeroed struct

// Adds a track as it stands and gives its number.
GAIT_CHECK int track_table_add(struct track_table *table, const struct track *track,
                               uint32_t *ret_number);

#endif
