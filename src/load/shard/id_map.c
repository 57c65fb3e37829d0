// SPDX-License-Identifier: Apache-2.0
// From ids to numbers, in pages.
#include "load/shard/id_map.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/fail.h"
#include "base/invariant.h"

static int reach_page(struct id_map *map, size_t page)
{
    int status = ARRAY_RESERVE_ZEROED(map->pages, map->page_capacity, page + 1, ID_MAP_PAGES);

    if (status)
        return status;
    if (page >= map->page_count)
        map->page_count = page + 1;
    GAIT_ASSERT(page < map->page_count);
    if (map->pages[page])
        return 0;
    map->pages[page] = calloc(ID_MAP_PAGE, sizeof(**map->pages));
    if (!map->pages[page])
        return fail(GAIT_ERR_MEMORY, "no memory for ids");
    map->held_bytes += ID_MAP_PAGE * sizeof(**map->pages);
    return 0;
}

int id_map_set(struct id_map *map, uint64_t id, uint32_t value)
{
    if (id >= (uint64_t)ID_MAP_PAGE * ID_MAP_PAGES)
        return fail(GAIT_ERR_FORMAT, "id %" PRIu64 " is larger than any id that gait writes", id);
    int status = reach_page(map, (size_t)(id / ID_MAP_PAGE));
    if (!status)
        map->pages[id / ID_MAP_PAGE][id % ID_MAP_PAGE] = value;
    return status;
}

void id_map_finish(struct id_map *map)
{
    if (!map)
        return;
    for (size_t i = 0; i < map->page_count; i++)
        free(map->pages[i]);
    free(map->pages);
    *map = (struct id_map){0};
}
