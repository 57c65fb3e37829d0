// SPDX-License-Identifier: Apache-2.0
// Two hash tables with a maximum each. Open addressing over ids; texts lie in
// chunks that never move, because frames and journals borrow them.
#include "record/name_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "format/frame.h"
#include "format/slot.h"

#define MAX_SITES (1u << 16)
#define MAX_TEXT_BYTES (32u << 20)
#define CHUNK_BYTES (64u << 10)
#define FIRST_SLOTS 1024u

struct entries { // ids 1 … count, found through `slots`
    uint32_t count, capacity, max;
    uint32_t *slots; // ids, 0 = free
    uint32_t slot_count;
};

struct text_entry {
    const uint8_t *bytes;
    uint32_t count;
    uint32_t hash;
};

static struct entries strings = {.max = NAME_TABLE_MAX_STRINGS};
static struct entries sites = {.max = MAX_SITES};
static struct text_entry *texts; // [id - 1]
static struct site_key *keys;    // [id - 1]
static uint8_t *chunk;
static size_t chunk_left, text_bytes;
static uint64_t overflow;

static const char *const reserved[] = {
    [RING_LOSS_FULL] = "ring full",
    [RING_LOSS_OVERWRITTEN] = "overwritten",
    [RING_LOSS_DISK_FULL] = "disk full",
    [RING_LOSS_NO_RING] = "no ring left",
    [RING_LOSS_DAMAGED] = "ring damaged",
    [STRING_GAIT] = "gait",
    [STRING_WRITE] = "write",
    [SLOT_KEY_SEQ] = "seq",
    [SLOT_KEY_FWD_THREAD] = "fwd_thread",
    [SLOT_KEY_SHAPES] = "shapes",
    [SLOT_KEY_SCOPE] = "scope",
};
_Static_assert((int)STRING_RESERVED_END == (int)SLOT_KEY_SEQ, "reserved ids are in a row");

static const uint8_t *keep_text(struct slice text)
{
    if (text_bytes + text.count > MAX_TEXT_BYTES)
        return NULL;
    if (text.count > chunk_left) {
        size_t bytes = text.count > CHUNK_BYTES ? text.count : CHUNK_BYTES;
        uint8_t *fresh = malloc(bytes);
        if (!fresh)
            return NULL;
        chunk = fresh; // the rest of the old chunk is given up
        chunk_left = bytes;
    }
    GAIT_ASSERT(text.count <= chunk_left);
    uint8_t *kept = chunk;
    memcpy(kept, text.bytes, text.count);
    chunk += text.count;
    chunk_left -= text.count;
    text_bytes += text.count;
    return kept;
}

static uint32_t hash_of_id(const struct entries *entries, uint32_t id)
{
    if (entries == &strings)
        return texts[id - 1].hash;
    return (uint32_t)frame_hash(&keys[id - 1], sizeof(struct site_key));
}

// Room for one more id, in the rows and in the hash.
static bool make_room(struct entries *entries, void **rows, size_t row_bytes)
{
    if (entries->count >= entries->max)
        return false;
    if (entries->count == entries->capacity) {
        uint32_t capacity = entries->capacity ? entries->capacity * 2 : FIRST_SLOTS / 2;
        void *grown = realloc(*rows, capacity * row_bytes);
        if (!grown)
            return false;
        *rows = grown;
        entries->capacity = capacity;
    }
    if (entries->count * 2 < entries->slot_count)
        return true;
    uint32_t slot_count = entries->slot_count ? entries->slot_count * 2 : FIRST_SLOTS;
    uint32_t *slots = calloc(slot_count, sizeof(*slots));
    if (!slots)
        return false;
    for (uint32_t id = 1; id <= entries->count; id++) {
        uint32_t at = hash_of_id(entries, id) & (slot_count - 1);
        while (slots[at]) {
            at = (at + 1) & (slot_count - 1);
        }
        slots[at] = id;
    }
    free(entries->slots);
    entries->slots = slots;
    entries->slot_count = slot_count;
    return true;
}

static void enter_id(struct entries *entries, uint32_t hash)
{
    GAIT_ASSERT(entries->count < entries->capacity);
    GAIT_ASSERT(entries->count * 2 < entries->slot_count); // a search finds a free one
    uint32_t at = hash & (entries->slot_count - 1);
    while (entries->slots[at]) {
        at = (at + 1) & (entries->slot_count - 1);
    }
    entries->slots[at] = ++entries->count;
}

static uint32_t find_string(struct slice text, uint32_t hash)
{
    if (!strings.slot_count)
        return 0;
    uint32_t at = hash & (strings.slot_count - 1);
    for (uint32_t id; (id = strings.slots[at]); at = (at + 1) & (strings.slot_count - 1)) {
        const struct text_entry *entry = &texts[id - 1];
        if (entry->hash == hash && entry->count == text.count &&
            memcmp(entry->bytes, text.bytes, text.count) == 0)
            return id;
    }
    return 0;
}

static uint32_t add_string(struct slice text, uint32_t hash)
{
    const uint8_t *kept;
    if (!make_room(&strings, (void **)&texts, sizeof(*texts)) || !(kept = keep_text(text))) {
        overflow++;
        return 0;
    }
    texts[strings.count] = (struct text_entry){kept, (uint32_t)text.count, hash};
    enter_id(&strings, hash);
    return strings.count;
}

static void add_reserved(void)
{
    for (int i = 1; i < SLOT_KEY_END; i++) {
        struct slice text = slice_of(reserved[i]);
        add_string(text, (uint32_t)frame_hash(text.bytes, text.count));
    }
    bool is_new;
    const struct site_key write_site = {STRING_GAIT, STRING_WRITE, 0, 0};
    name_table_site(&write_site, &is_new);
}

uint32_t name_table_string(struct slice text, bool *ret_is_new)
{
    *ret_is_new = false;
    if (text.count == 0)
        return 0;
    if (strings.count == 0)
        add_reserved();
    if (text.count > JOURNAL_MAX_TEXT / 4)
        text.count = JOURNAL_MAX_TEXT / 4;
    uint32_t hash = (uint32_t)frame_hash(text.bytes, text.count);
    uint32_t id = find_string(text, hash);
    if (id)
        return id;
    id = add_string(text, hash);
    *ret_is_new = id != 0;
    return id;
}

uint32_t name_table_site(const struct site_key *key, bool *ret_is_new)
{
    uint32_t hash = (uint32_t)frame_hash(key, sizeof(*key));
    *ret_is_new = false;
    if (sites.slot_count) {
        uint32_t at = hash & (sites.slot_count - 1);
        for (uint32_t id; (id = sites.slots[at]); at = (at + 1) & (sites.slot_count - 1)) {
            if (memcmp(&keys[id - 1], key, sizeof(*key)) == 0)
                return id;
        }
    }
    if (!make_room(&sites, (void **)&keys, sizeof(*keys))) {
        overflow++;
        return 0;
    }
    keys[sites.count] = *key;
    enter_id(&sites, hash);
    *ret_is_new = true;
    return sites.count;
}

uint32_t name_table_string_count(void)
{
    if (strings.count == 0)
        add_reserved();
    return strings.count;
}

uint32_t name_table_site_count(void)
{
    return sites.count;
}

uint64_t name_table_overflow(void)
{
    return overflow;
}

struct journal_row name_table_string_row(uint32_t id)
{
    GAIT_ASSERT(id && id <= strings.count);
    const struct text_entry *entry = &texts[id - 1];
    return (struct journal_row){TABLE_STRING, 1, 1, {id}, {{entry->bytes, entry->count}}};
}

struct journal_row name_table_site_row(uint32_t id)
{
    GAIT_ASSERT(id && id <= sites.count);
    const struct site_key *key = &keys[id - 1];
    return (struct journal_row){
        TABLE_SITE, 5, 0, {id, key->category, key->name, key->file, key->line}, {{0}}};
}
