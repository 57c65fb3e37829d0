// SPDX-License-Identifier: Apache-2.0
// From ids to numbers, in pages.
#include "load/id_map.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/fail.h"

int id_map_set(struct id_map *map, uint64_t id, uint32_t value)
{
    uint32_t **page;

    if (id >= (uint64_t)ID_MAP_PAGE * ID_MAP_PAGES)
        return fail(GAIT_ERR_FORMAT, "id %" PRIu64 " is larger than any writer gives", id);
    if (!map->pages)
        map->pages = calloc(ID_MAP_PAGES, sizeof(*map->pages));
    if (!map->pages)
        return fail(GAIT_ERR_MEMORY, "no memory for ids");
    page = &map->pages[id / ID_MAP_PAGE];
    if (!*page)
        *page = calloc(ID_MAP_PAGE, sizeof(**page));
    if (!*page)
        return fail(GAIT_ERR_MEMORY, "no memory for ids");
    (*page)[id % ID_MAP_PAGE] = value;
    return 0;
}

void id_map_finish(struct id_map *map)
{
    if (!map || !map->pages)
        return;
    for (size_t i = 0; i < ID_MAP_PAGES; i++)
        free(map->pages[i]);
    free(map->pages);
    map->pages = NULL;
}
