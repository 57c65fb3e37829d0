// SPDX-License-Identifier: Apache-2.0
// Texts, and other runs of bytes, each held once under a number from 1 on, in memory of their own.
#ifndef GAIT_INGEST_NAME_INDEX_H
#define GAIT_INGEST_NAME_INDEX_H

#include "base/arena.h"
#include "base/intern.h"

#define NAME_INDEX_MOST_BYTES ((size_t)4 << 30)

struct name_index {
    struct arena arena;
    struct intern texts;
};

static inline void name_index_init(struct name_index *table)
{
    arena_init(&table->arena, NAME_INDEX_MOST_BYTES);
    intern_init(&table->texts, NULL); // a table may move: number() gives it its arena
}

static inline void name_index_finish(struct name_index *table) // takes a zeroed struct
{
    arena_finish(&table->arena);
    intern_finish(&table->texts);
}

// Its number, or 0 where there is no memory.
static inline uint32_t name_index_number(struct name_index *table, struct slice name)
{
    table->texts.arena = &table->arena;
    return intern_number(&table->texts, name);
}

static inline struct slice name_index_get(const struct name_index *table, uint32_t number)
{
    return intern_get(&table->texts, number);
}

#endif
