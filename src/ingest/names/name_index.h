// SPDX-License-Identifier: Apache-2.0
// Texts, and other runs of bytes, each held once under a number from 1 on.
#ifndef GAIT_INGEST_NAME_INDEX_H
#define GAIT_INGEST_NAME_INDEX_H

#include "base/arena.h"
#include "base/index/hash_index.h"
#include "base/slice.h"

struct name_index {
    struct arena arena;
    struct hash_index index;
    struct slice *names; // that of number n is names[n - 1]
    size_t count, room;
};

void name_index_init(struct name_index *table);
void name_index_finish(struct name_index *table); // takes a zeroed struct

// Its number, or 0 where there is no memory.
uint32_t name_index_number(struct name_index *table, struct slice name);

static inline struct slice name_index_get(const struct name_index *table, uint32_t number)
{
    return number ? table->names[number - 1] : (struct slice){(const uint8_t *)"", 0};
}

#endif
