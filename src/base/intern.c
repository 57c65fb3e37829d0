// SPDX-License-Identifier: Apache-2.0
// Texts held once: open addressing over hashes. The hash is kept beside
// the pointer, so that growing never touches the texts.
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/index/hash_index.h"

#define FIRST_ROOM 64u

struct intern_entry {
    const char *text;
    size_t bytes;
};

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

static bool is_text(const struct intern_entry *entry, struct slice text)
{
    return entry->bytes == text.count &&
           (!text.count || !memcmp(entry->text, text.bytes, text.count));
}

const char *intern_text(struct intern *intern, struct slice text)
{
    struct hash_index *index = &intern->index;
    const uint32_t hash = (uint32_t)hash_bytes(text);
    if (hash_index_reserve(index, FIRST_ROOM))
        return NULL;
    size_t at = hash_index_first(index, hash);
    for (; index->places[at].row; at = hash_index_next(index, at))
        if (is_text(&intern->entries[index->places[at].row - 1], text))
            return intern->entries[index->places[at].row - 1].text;
    if (ARRAY_RESERVE(intern->entries, intern->room, intern->count + 1, UINT32_MAX))
        return NULL;
    const char *copy = arena_text(intern->arena, text.bytes, text.count);
    if (!copy)
        return NULL;
    intern->entries[intern->count] = (struct intern_entry){copy, text.count};
    hash_index_put(index, at, hash, (uint32_t)intern->count++);
    return copy;
}
