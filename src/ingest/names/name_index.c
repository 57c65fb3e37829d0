// SPDX-License-Identifier: Apache-2.0
#include "ingest/names/name_index.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/array.h"

#define FIRST_ROOM 1024
#define MOST_NAMES ((size_t)16 << 20)
#define MOST_BYTES ((size_t)4 << 30)

void name_index_init(struct name_index *table)
{
    *table = (struct name_index){.count = 0};
    arena_init(&table->arena, MOST_BYTES);
}

void name_index_finish(struct name_index *table)
{
    arena_finish(&table->arena);
    hash_index_finish(&table->index);
    free(table->names);
    *table = (struct name_index){.count = 0};
}

uint32_t name_index_number(struct name_index *table, struct slice name)
{
    const uint32_t hash = (uint32_t)XXH3_64bits(name.bytes, name.count);
    if (hash_index_reserve(&table->index, FIRST_ROOM))
        return 0;
    size_t at = hash_index_first(&table->index, hash);
    for (; table->index.places[at].row; at = hash_index_next(&table->index, at)) {
        const struct slice *same = &table->names[table->index.places[at].row - 1];
        if (slice_equals(*same, name))
            return table->index.places[at].row;
    }
    char *copy = NULL;
    if (!ARRAY_RESERVE(table->names, table->room, table->count + 1, MOST_NAMES))
        copy = arena_text(&table->arena, name.bytes, name.count);
    if (!copy)
        return 0;
    table->names[table->count] = (struct slice){(const uint8_t *)copy, name.count};
    hash_index_put(&table->index, at, hash, (uint32_t)table->count);
    return (uint32_t)++table->count;
}
