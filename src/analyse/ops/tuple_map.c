// SPDX-License-Identifier: Apache-2.0
// Tuples in a row, and an index to find them by.
#include "analyse/ops/tuple_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/index/hash_index.h"

enum { FIRST_ROOM = 64 };

void tuple_map_init(struct tuple_map *map, size_t width)
{
    *map = (struct tuple_map){.width = width};
}

void tuple_map_finish(struct tuple_map *map)
{
    free(map->tuples);
    hash_index_finish(&map->index);
    *map = (struct tuple_map){.width = map->width};
}

static uint32_t hash_of(const uint64_t *tuple, size_t width)
{
    uint64_t hash = width;
    for (size_t i = 0; i < width; i++)
        hash = hash_mix(hash, tuple[i]);
    return (uint32_t)hash;
}

// The place of that tuple, or the free one where it would stand.
static size_t place_of(const struct tuple_map *map, const uint64_t *tuple, uint32_t hash)
{
    const struct hash_index *index = &map->index;
    size_t at = hash_index_first(index, hash);
    while (index->places[at].row &&
           0 != memcmp(map->tuples + (index->places[at].row - 1) * map->width, tuple,
                       map->width * sizeof *tuple))
        at = hash_index_next(index, at);
    return at;
}

int tuple_map_add(struct tuple_map *map, const uint64_t *tuple, uint32_t *ret_index)
{
    const struct array_shape shape = {map->width * sizeof *tuple, TUPLE_NONE - 1};
    int status = hash_index_reserve(&map->index, FIRST_ROOM);
    if (status)
        return status;
    const uint32_t hash = hash_of(tuple, map->width);
    const size_t place = place_of(map, tuple, hash);
    if (!map->index.places[place].row) {
        status = array_reserve((void **)&map->tuples, &map->tuple_room, map->count + 1, shape);
        if (status)
            return status;
        memcpy(map->tuples + map->count * map->width, tuple, shape.item_bytes);
        hash_index_put(&map->index, place, hash, (uint32_t)map->count++);
    }
    *ret_index = map->index.places[place].row - 1;
    return GAIT_OK;
}

uint32_t tuple_map_find(const struct tuple_map *map, const uint64_t *tuple)
{
    if (!map->count)
        return TUPLE_NONE;
    const size_t place = place_of(map, tuple, hash_of(tuple, map->width));
    const uint32_t row = map->index.places[place].row;
    return row ? row - 1 : TUPLE_NONE;
}
