// SPDX-License-Identifier: Apache-2.0
// From the ids of one shard (nearly dense, chosen by the writer) to numbers of
// ours: an array in pages, so that one wild id does not cost a gigabyte.
#ifndef GAIT_LOAD_ID_MAP_H
#define GAIT_LOAD_ID_MAP_H

#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#define ID_MAP_PAGE 512
#define ID_MAP_PAGES 32768 // ids up to 16,777,215

struct id_map {
    uint32_t **pages; // NULL where no id was set
    size_t page_count, page_capacity;
    size_t held_bytes; // of all pages
};

// Ids past the maximum are GAIT_ERR_FORMAT.
GAIT_CHECK int id_map_set(struct id_map *map, uint64_t id, uint32_t value);
void id_map_finish(struct id_map *map); // takes NULL and a zeroed struct

// 0 for an id that was never set.
static inline uint32_t id_map_get(const struct id_map *map, uint64_t id)
{
    if (id / ID_MAP_PAGE >= map->page_count)
        return 0;
    const uint32_t *page = map->pages[id / ID_MAP_PAGE];
    return page ? page[id % ID_MAP_PAGE] : 0;
}

#endif
