// SPDX-License-Identifier: Apache-2.0
// Open addressing with linear probing, at most half full.
#include "export/number_map.h"

#include <stdlib.h>

#include "base/fail.h"

#define FIRST_CAPACITY 64

void number_map_init(struct number_map *map, size_t max_count)
{
    *map = (struct number_map){.limit = max_count};
}

void number_map_finish(struct number_map *map)
{
    free(map->keys);
    free(map->values);
    *map = (struct number_map){0};
}

// The slot that holds the key, or the free one where it belongs.
static size_t find(const struct number_map *map, uint64_t key)
{
    size_t slot = (size_t)number_map_mix(key) & (map->capacity - 1);
    while (map->values[slot] && map->keys[slot] != key)
        slot = (slot + 1) & (map->capacity - 1);
    return slot;
}

uint64_t number_map_get(const struct number_map *map, uint64_t key)
{
    return map->capacity ? map->values[find(map, key)] : 0;
}

static int grow(struct number_map *map)
{
    struct number_map larger = *map;
    larger.capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY;
    larger.keys = calloc(larger.capacity, sizeof(uint64_t));
    larger.values = calloc(larger.capacity, sizeof(uint64_t));
    if (!larger.keys || !larger.values) {
        free(larger.keys);
        free(larger.values);
        return fail(GAIT_ERR_MEMORY, "no memory for a table of %zu numbers", larger.capacity);
    }
    for (size_t i = 0; i < map->capacity; i++) {
        if (!map->values[i])
            continue;
        size_t slot = find(&larger, map->keys[i]);
        larger.keys[slot] = map->keys[i];
        larger.values[slot] = map->values[i];
    }
    free(map->keys);
    free(map->values);
    map->keys = larger.keys;
    map->values = larger.values;
    map->capacity = larger.capacity;
    return GAIT_OK;
}

int number_map_put(struct number_map *map, uint64_t key, uint64_t value)
{
    if (map->count * 2 >= map->capacity) {
        int status = grow(map);
        if (status)
            return status;
    }
    size_t slot = find(map, key);
    if (!map->values[slot]) {
        if (map->count >= map->limit)
            return fail(GAIT_ERR_MEMORY, "an export has more than %zu distinct entries",
                        map->limit);
        map->count++;
    }
    map->keys[slot] = key;
    map->values[slot] = value;
    return GAIT_OK;
}
