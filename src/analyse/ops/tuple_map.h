// SPDX-License-Identifier: Apache-2.0
// Rows of a few numbers, each row once: equal ones get the same index, counted
// in the order in which they came.
#ifndef GAIT_ANALYSE_TUPLE_MAP_H
#define GAIT_ANALYSE_TUPLE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#include "base/index/hash_index.h"

#define TUPLE_NONE UINT32_MAX

struct tuple_map {
    uint64_t *tuples; // width numbers each
    size_t width, count, tuple_room;
    struct hash_index index;
};

void tuple_map_init(struct tuple_map *map, size_t width);
void tuple_map_finish(struct tuple_map *map); // takes a zeroed struct

GAIT_CHECK int tuple_map_add(struct tuple_map *map, const uint64_t *tuple, uint32_t *ret_index);
uint32_t tuple_map_find(const struct tuple_map *map, const uint64_t *tuple); // or TUPLE_NONE

#endif
