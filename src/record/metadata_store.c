// SPDX-License-Identifier: Apache-2.0
// A short list: a search through it costs nothing beside what is told.
#include "record/metadata_store.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

#define MAX_NOTES 1024u

struct note {
    uint8_t *bytes; // the key, then the value
    size_t key_bytes, json_bytes;
};

static struct note notes[MAX_NOTES];
static uint32_t count;
static size_t kept_bytes;

static struct note *find(struct slice key)
{
    for (uint32_t i = 0; i < count; i++) {
        if (notes[i].key_bytes == key.count && !memcmp(notes[i].bytes, key.bytes, key.count))
            return &notes[i];
    }
    return NULL;
}

int metadata_store_keep(struct slice key, struct slice json)
{
    struct note *note = find(key);
    size_t before = note ? note->key_bytes + note->json_bytes : 0;
    size_t bytes = key.count + json.count;
    if (kept_bytes - before + bytes > METADATA_STORE_MAX_BYTES || (!note && count == MAX_NOTES))
        return fail(GAIT_ERR_MEMORY, "the metadata store is full: it holds %u keys and %zu bytes",
                    count, kept_bytes);
    uint8_t *copy = malloc(bytes);
    if (!copy)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu bytes of metadata", bytes);
    memcpy(copy, key.bytes, key.count);
    memcpy(copy + key.count, json.bytes, json.count);
    if (note)
        free(note->bytes);
    else
        note = &notes[count++];
    *note = (struct note){copy, key.count, json.count};
    kept_bytes += bytes - before;
    return 0;
}

uint32_t metadata_store_count(void)
{
    return count;
}

struct journal_row metadata_store_row(uint32_t index)
{
    const struct note *note = &notes[index];
    return (struct journal_row){
        TABLE_META,
        0,
        2,
        {0},
        {{note->bytes, note->key_bytes}, {note->bytes + note->key_bytes, note->json_bytes}}};
}

void metadata_store_clear(void)
{
    for (uint32_t i = 0; i < count; i++) {
        free(notes[i].bytes);
    }
    count = 0;
    kept_bytes = 0;
}
