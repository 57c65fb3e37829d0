// SPDX-License-Identifier: Apache-2.0
// Open addressing with linear steps, at most half full.
#include "analyse/tuple_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"

enum { FIRST_SLOTS = 64 };

void tuple_map_init(struct tuple_map *map, size_t width)
{
    *map = (struct tuple_map){.width = width};
}

void tuple_map_finish(struct tuple_map *map)
{
    free(map->tuples);
    free(map->slots);
    *map = (struct tuple_map){.width = map->width};
}

static uint64_t hash_of(const uint64_t *tuple, size_t width)
{
    uint64_t hash = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < width; i++) {
        hash = (hash ^ tuple[i]) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
    }
    return hash;
}

// The slot of that tuple, or the free one where it would stand.
static size_t slot_of(const struct tuple_map *map, const uint64_t *tuple)
{
    size_t slot = (size_t)hash_of(tuple, map->width) & (map->slot_count - 1);
    for (;; slot = (slot + 1) & (map->slot_count - 1)) {
        if (!map->slots[slot] || !memcmp(map->tuples + (map->slots[slot] - 1) * map->width, tuple,
                                         map->width * sizeof *tuple))
            return slot;
    }
}

static int grow(struct tuple_map *map)
{
    struct tuple_map grown = *map;
    grown.slot_count = map->slot_count ? map->slot_count * 2 : FIRST_SLOTS;
    grown.slots = calloc(grown.slot_count, sizeof *grown.slots);
    if (!grown.slots)
        return fail(GAIT_ERR_MEMORY, "no memory to tell %zu rows apart", map->count);
    for (size_t i = 0; i < map->count; i++)
        grown.slots[slot_of(&grown, map->tuples + i * map->width)] = (uint32_t)i + 1;
    free(map->slots);
    map->slots = grown.slots;
    map->slot_count = grown.slot_count;
    return GAIT_OK;
}

int tuple_map_add(struct tuple_map *map, const uint64_t *tuple, uint32_t *ret_index)
{
    const struct array_shape shape = {map->width * sizeof *tuple, TUPLE_NONE - 1};
    int status = (map->count + 1) * 2 > map->slot_count ? grow(map) : GAIT_OK;
    if (status)
        return status;
    size_t slot = slot_of(map, tuple);
    if (!map->slots[slot]) {
        status = array_reserve((void **)&map->tuples, &map->tuple_room, map->count + 1, shape);
        if (status)
            return status;
        memcpy(map->tuples + map->count * map->width, tuple, shape.item_bytes);
        map->slots[slot] = (uint32_t)++map->count;
    }
    *ret_index = map->slots[slot] - 1;
    return GAIT_OK;
}

uint32_t tuple_map_find(const struct tuple_map *map, const uint64_t *tuple)
{
    if (!map->count)
        return TUPLE_NONE;
    const size_t slot = slot_of(map, tuple);
    return map->slots[slot] ? map->slots[slot] - 1 : TUPLE_NONE;
}
