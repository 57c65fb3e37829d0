// SPDX-License-Identifier: Apache-2.0
// The sites of a whole trace, found by content through open addressing.
#include "load/site_table.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/fail.h"

#define SITE_LIMIT (16u << 20)

static size_t hash_site(const struct gait_site_info *site)
{
    uint64_t hash = (uintptr_t)site->category;

    hash = (hash ^ (uintptr_t)site->name) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ (hash >> 32) ^ (uintptr_t)site->file) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ (hash >> 32) ^ site->line) * 0x9e3779b97f4a7c15u;
    return (size_t)(hash ^ (hash >> 32));
}

static int is_same(const struct gait_site_info *a, const struct gait_site_info *b)
{
    return a->category == b->category && a->name == b->name && a->file == b->file &&
           a->line == b->line;
}

static uint32_t *find_slot(const struct site_table *table, const struct gait_site_info *site)
{
    size_t at = hash_site(site) & (table->slot_count - 1);

    while (table->slots[at] && !is_same(&table->sites[table->slots[at] - 1], site))
        at = (at + 1) & (table->slot_count - 1);
    return &table->slots[at];
}

static int grow(struct site_table *table)
{
    struct site_table larger = *table;

    larger.slot_count = table->slot_count ? table->slot_count * 2 : 256;
    larger.slots = calloc(larger.slot_count, sizeof(*larger.slots));
    if (!larger.slots)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu sites", larger.slot_count);
    for (size_t i = 0; i < table->count; i++)
        *find_slot(&larger, &table->sites[i]) = (uint32_t)i + 1;
    free(table->slots);
    table->slots = larger.slots;
    table->slot_count = larger.slot_count;
    return 0;
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
    free(table->slots);
    *table = (struct site_table){0};
}

int site_table_number(struct site_table *table, const struct gait_site_info *site,
                      uint32_t *ret_number)
{
    struct array_shape shape = {sizeof(*table->sites), SITE_LIMIT};
    uint32_t *slot;
    int status;

    if (table->count * 2 >= table->slot_count) {
        status = grow(table);
        if (status)
            return status;
    }
    slot = find_slot(table, site);
    if (!*slot) {
        status = array_reserve((void **)&table->sites, &table->capacity, table->count + 1, shape);
        if (status)
            return status;
        table->sites[table->count++] = *site;
        *slot = (uint32_t)table->count;
    }
    *ret_number = *slot - 1;
    return 0;
}
