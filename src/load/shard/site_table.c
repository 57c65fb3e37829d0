// SPDX-License-Identifier: Apache-2.0
// The sites of a whole trace, found by content.
#include "load/shard/site_table.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/index/hash_index.h"
#include "vocabulary/roles.h"

#define SITE_LIMIT (16u << 20)
#define FIRST_ROOM 256

static uint32_t hash_site(const struct gait_site_info *site)
{
    // one after the other: two places in memory may grow in step
    const uint64_t hash = hash_mix(hash_mix(0, (uintptr_t)site->category), (uintptr_t)site->name);
    return (uint32_t)hash_mix(hash_mix(hash, (uintptr_t)site->file), site->line);
}

static int is_same(const struct gait_site_info *a, const struct gait_site_info *b)
{
    return a->category == b->category && a->name == b->name && a->file == b->file &&
           a->line == b->line;
}

int site_table_init(struct site_table *table, struct intern *texts)
{
    const char *empty = intern_text(texts, slice_of(""));
    struct gait_site_info anonymous = {.category = empty, .name = empty, .file = empty};
    uint32_t number;

    *table = (struct site_table){0};
    if (!empty)
        return GAIT_ERR_MEMORY;
    return site_table_number(table, &anonymous, &number);
}

void site_table_finish(struct site_table *table)
{
    if (!table)
        return;
    free(table->sites);
    free(table->roles);
    hash_index_finish(&table->index);
    *table = (struct site_table){0};
}

int site_table_number(struct site_table *table, const struct gait_site_info *site,
                      uint32_t *ret_number)
{
    struct hash_index *index = &table->index;
    const uint32_t hash = hash_site(site);
    int status = hash_index_reserve(index, FIRST_ROOM);

    if (status)
        return status;
    size_t at = hash_index_first(index, hash);
    while (index->places[at].row && !is_same(&table->sites[index->places[at].row - 1], site))
        at = hash_index_next(index, at);
    if (!index->places[at].row) {
        status = ARRAY_RESERVE(table->sites, table->capacity, table->count + 1, SITE_LIMIT);
        if (!status)
            status =
                ARRAY_RESERVE(table->roles, table->role_capacity, table->count + 1, SITE_LIMIT);
        if (status)
            return status;
        hash_index_put(index, at, hash, (uint32_t)table->count);
        table->roles[table->count] = (uint8_t)role_of(site->category, site->name);
        table->sites[table->count++] = *site;
    }
    *ret_number = index->places[at].row - 1;
    return 0;
}
