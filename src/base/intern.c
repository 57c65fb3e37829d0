// SPDX-License-Identifier: Apache-2.0
// Texts held once: open addressing over hashes. The hash is kept beside
// the pointer, so that growing never touches the texts.
#include "base/intern.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/index/hash_index.h"

#define FIRST_ROOM 64u

void intern_init(struct intern *intern, struct arena *arena)
{
    *intern = (struct intern){.arena = arena};
}

void intern_finish(struct intern *intern)
{
    if (!intern)
        return;
    free(intern->entries);
    hash_index_finish(&intern->index);
    *intern = (struct intern){.arena = intern->arena};
}

uint32_t intern_number(struct intern *intern, struct slice text)
{
    struct hash_index *index = &intern->index;
    const uint32_t hash = (uint32_t)hash_bytes(text);
    if (hash_index_reserve(index, FIRST_ROOM))
        return 0;
    size_t at = hash_index_first(index, hash);
    for (; index->places[at].row; at = hash_index_next(index, at))
        if (slice_equals(intern->entries[index->places[at].row - 1], text))
            return index->places[at].row;
    if (ARRAY_RESERVE(intern->entries, intern->room, intern->count + 1, UINT32_MAX))
        return 0;
    const char *copy = arena_text(intern->arena, text.bytes, text.count);
    if (!copy)
        return 0;
    intern->entries[intern->count] = (struct slice){(const uint8_t *)copy, text.count};
    hash_index_put(index, at, hash, (uint32_t)intern->count);
    return (uint32_t)++intern->count;
}

const char *intern_text(struct intern *intern, struct slice text)
{
    const uint32_t number = intern_number(intern, text);
    return number ? (const char *)intern->entries[number - 1].bytes : NULL;
}
