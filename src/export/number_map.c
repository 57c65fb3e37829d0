// SPDX-License-Identifier: Apache-2.0
#include "export/number_map.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/fail.h"

#define FIRST_ROOM 64

void number_map_init(struct number_map *map, size_t max_count)
{
    *map = (struct number_map){.limit = max_count};
}

void number_map_finish(struct number_map *map)
{
    hash_index_finish(&map->index);
    free(map->pairs);
    *map = (struct number_map){.pairs = NULL};
}

// The pair of the key, NULL if there is none; and where it belongs.
static struct number_pair *find(const struct number_map *map, uint64_t key, size_t *ret_at)
{
    size_t at = hash_index_first(&map->index, (uint32_t)number_map_mix(key));
    for (; map->index.places[at].row; at = hash_index_next(&map->index, at))
        if (map->pairs[map->index.places[at].row - 1].key == key)
            return &map->pairs[map->index.places[at].row - 1];
    *ret_at = at;
    return NULL;
}

uint64_t number_map_get(const struct number_map *map, uint64_t key)
{
    size_t at;
    const struct number_pair *pair = map->index.room ? find(map, key, &at) : NULL;
    return pair ? pair->value : 0;
}

int number_map_put(struct number_map *map, uint64_t key, uint64_t value)
{
    size_t at;
    int status = hash_index_reserve(&map->index, FIRST_ROOM);
    struct number_pair *pair = status ? NULL : find(map, key, &at);
    if (pair)
        pair->value = value;
    if (status || pair)
        return status;
    if (map->count >= map->limit)
        return fail(GAIT_ERR_MEMORY, "an export has more than %zu distinct entries", map->limit);
    status =
        ARRAY_ADD(map->pairs, map->count, map->room, map->limit, &(struct number_pair){key, value});
    if (!status)
        hash_index_put(&map->index, at, (uint32_t)number_map_mix(key), (uint32_t)map->count - 1);
    return status;
}
