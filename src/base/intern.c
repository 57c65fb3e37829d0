// SPDX-License-Identifier: Apache-2.0
// Texts held once: open addressing over hashes. The hash is kept beside
// the pointer, so that growing never touches the texts.
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

struct intern_entry {
    const char *text; // NULL: free
    size_t bytes;
    uint64_t hash;
};

void intern_init(struct intern *intern, struct arena *arena)
{
    *intern = (struct intern){.arena = arena};
}

void intern_finish(struct intern *intern)
{
    if (!intern)
        return;
    free(intern->slots);
    *intern = (struct intern){.arena = intern->arena};
}

// Eight bytes a step: names may be 100,000 bytes long.
static uint64_t hash_text(struct slice text)
{
    uint64_t hash = text.count * 0x9e3779b97f4a7c15u;
    size_t left = text.count;

    for (const uint8_t *at = text.bytes; left;) {
        uint64_t word = 0;
        size_t step = left < 8 ? left : 8;

        memcpy(&word, at, step);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
        left -= step;
        at += step;
    }
    return hash;
}

static struct intern_entry *find_slot(const struct intern *intern, struct slice text, uint64_t hash)
{
    size_t at = hash & (intern->capacity - 1);

    while (intern->slots[at].text) {
        struct intern_entry *entry = &intern->slots[at];

        if (entry->hash == hash && entry->bytes == text.count &&
            (!text.count || !memcmp(entry->text, text.bytes, text.count)))
            return entry;
        at = (at + 1) & (intern->capacity - 1);
    }
    return &intern->slots[at];
}

static int grow(struct intern *intern)
{
    size_t capacity = intern->capacity ? intern->capacity * 2 : 64;
    struct intern_entry *slots = calloc(capacity, sizeof(*slots));

    if (!slots)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu texts", capacity);
    for (size_t i = 0; i < intern->capacity; i++) {
        size_t at = intern->slots[i].hash & (capacity - 1);

        if (!intern->slots[i].text)
            continue;
        while (slots[at].text)
            at = (at + 1) & (capacity - 1);
        slots[at] = intern->slots[i];
    }
    free(intern->slots);
    intern->slots = slots;
    intern->capacity = capacity;
    return 0;
}

const char *intern_text(struct intern *intern, struct slice text)
{
    uint64_t hash = hash_text(text);
    struct intern_entry *entry;
    const char *copy;

    if (intern->count * 2 >= intern->capacity && grow(intern))
        return NULL;
    entry = find_slot(intern, text, hash);
    if (entry->text)
        return entry->text;
    copy = arena_text(intern->arena, text.bytes, text.count);
    if (!copy)
        return NULL;
    *entry = (struct intern_entry){.text = copy, .bytes = text.count, .hash = hash};
    intern->count++;
    return copy;
}
