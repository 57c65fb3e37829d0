// SPDX-License-Identifier: Apache-2.0
// An entry costs six reads once (code object, three texts, line table, code). It is
// read again when it turns up after CHECK_AFTER_NS of absence, for it may have
// been freed. One that turns up all the time is alive as a rule: it is read less
// and less often, but no less than every CHECK_AFTER_NS where addresses were seen
// to change hands lately.
#include "sample/code_cache.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/fail.h"
#include "sample/code_units.h"
#include "sample/python_text.h"

#define CHECK_AFTER_NS (10 * UINT64_C(1000000))
#define LONGEST_PAUSE_NS (16 * CHECK_AFTER_NS)
#define LATELY_NS (10 * UINT64_C(1000000000))
#define FIRST_ROOM 1024u
#define ENTRY_LIMIT (1u << 18)
#define BYTES_LIMIT (64u << 20) // of what is known of code, of all functions together
#define TABLE_LIMIT (4u << 20)  // bytes of a line table
#define SHIM_FILE "<shim>"    // of 3.12's frames of calls from C code; a walk knows those that live
#define UNIT_LIMIT (1u << 20) // of code; two bytes each
#define TEXT_ROOM (4 * PYTHON_TEXT_MAX + 1)

// What tells a code object from the one that lay there before.
struct fingerprint {
    uint64_t type, name, file, qualified, lines, units;
    int64_t first_line, words; // wide, so that there are no bytes between; words of its frames
};

struct code_entry {
    uint64_t address; // 0: a free slot
    struct fingerprint print;
    uint64_t seen_ns, checked_ns, pause_ns;
    struct line_entry *lines;
    struct code_units units;
    int32_t line_count;
    uint32_t site;
};

int code_cache_init(struct code_cache *cache, struct target *target, struct stack_trie *trie)
{
    memset(cache, 0, sizeof *cache);
    cache->target = target;
    cache->trie = trie;
    cache->room = FIRST_ROOM;
    cache->entries = calloc(cache->room, sizeof *cache->entries);
    cache->name = malloc(2 * TEXT_ROOM);
    cache->file = cache->name ? cache->name + TEXT_ROOM : NULL;
    if (cache->entries && cache->name)
        return 0;
    code_cache_finish(cache);
    return fail(GAIT_ERR_MEMORY, "no memory for the names of functions");
}

static size_t bytes_of(const struct code_entry *entry)
{
    return (size_t)entry->line_count * sizeof *entry->lines + code_units_bytes(&entry->units);
}

static void release(struct code_entry *entry)
{
    free(entry->lines);
    code_units_release(&entry->units);
}

static void forget_all(struct code_cache *cache)
{
    for (size_t i = 0; i < cache->room; i++)
        release(&cache->entries[i]);
    memset(cache->entries, 0, cache->room * sizeof *cache->entries);
    cache->count = cache->bytes = 0;
}

void code_cache_finish(struct code_cache *cache)
{
    if (!cache)
        return;
    if (cache->entries)
        forget_all(cache);
    free(cache->entries);
    free(cache->name);
    memset(cache, 0, sizeof *cache);
}

static struct code_entry *slot_of(struct code_entry *entries, size_t room, uint64_t address)
{
    size_t at = (size_t)((address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (room - 1);
    while (entries[at].address && entries[at].address != address)
        at = (at + 1) & (room - 1);
    return &entries[at];
}

static int grow(struct code_cache *cache, size_t room)
{
    struct code_entry *entries = calloc(room, sizeof *entries);
    if (!entries)
        return fail(GAIT_ERR_MEMORY, "no memory for the names of functions");
    for (size_t i = 0; i < cache->room; i++)
        if (cache->entries[i].address)
            *slot_of(entries, room, cache->entries[i].address) = cache->entries[i];
    free(cache->entries);
    cache->entries = entries;
    cache->room = room;
    return 0;
}

// Room for one more.
static int reserve(struct code_cache *cache)
{
    const size_t room = cache->room * 2;
    const bool is_full = cache->count * 2 >= cache->room;
    // a program that makes functions for ever, or some that never end
    if (cache->bytes > BYTES_LIMIT || (is_full && room > ENTRY_LIMIT))
        forget_all(cache);
    else if (is_full)
        return grow(cache, room);
    return 0;
}

static int read_print(struct code_cache *cache, uint64_t address, struct fingerprint *print)
{
    const struct layout *layout = &cache->target->layout;
    uint8_t code[LAYOUT_CODE_BYTES];
    if (address & 7 ||
        !memory_get(&cache->target->memory, address, code, (size_t)layout->code_bytes))
        return fail(GAIT_ERR_FORMAT, "no code object there");
    memset(print, 0, sizeof *print);
    print->type = bytes_get64(code + layout->object_type);
    print->name = bytes_get64(code + layout->code_name);
    print->file = bytes_get64(code + layout->code_file);
    print->lines = bytes_get64(code + layout->code_lines);
    print->units = layout->op_return >= 0 ? bytes_get64(code + layout->sized_count) : 0;
    if (layout->code_qualified >= 0)
        print->qualified = bytes_get64(code + layout->code_qualified);
    print->first_line = (int32_t)bytes_get32(code + layout->code_first_line);
    print->words = (int64_t)bytes_get32(code + layout->code_variable_count) +
                   bytes_get32(code + layout->code_stack_size);
    if (cache->target->code_type && print->type != cache->target->code_type)
        return fail(GAIT_ERR_FORMAT, "no code object there");
    return 0;
}

static void read_lines(struct code_cache *cache, struct code_entry *entry)
{
    struct memory *memory = &cache->target->memory;
    const struct layout *layout = &cache->target->layout;
    uint8_t guess[512];
    const size_t data = (size_t)layout->bytes_data;
    const size_t got = memory_get_some(memory, entry->print.lines, guess, sizeof guess);
    if (got < data || data < (size_t)layout->sized_count + 8)
        return;
    const uint64_t bytes = bytes_get64(guess + layout->sized_count);
    if (bytes > TABLE_LIMIT)
        return;
    uint8_t *table = malloc(bytes + 1);
    struct line_entry *lines = malloc((bytes + 2) * sizeof *lines);
    const size_t here = got - data < bytes ? got - data : bytes;
    const struct line_table about = {cache->target->minor, (int)entry->print.first_line, table,
                                     bytes};
    if (table && lines) {
        memcpy(table, guess + data, here);
        if (here == bytes ||
            memory_get(memory, entry->print.lines + data + here, table + here, bytes - here))
            entry->line_count = line_table_decode(&about, lines, (int)bytes + 2);
    }
    free(table);
    if (entry->line_count > 0)
        entry->lines = realloc(lines, (size_t)entry->line_count * sizeof *lines);
    else
        free(lines);
    if (!entry->lines)
        entry->line_count = 0;
}

static void read_units(struct code_cache *cache, struct code_entry *entry)
{
    const struct layout *layout = &cache->target->layout;
    const uint64_t count = entry->print.units;
    const uint64_t start = entry->address + (uint64_t)layout->code_instructions;
    if (count == 0 || count > UNIT_LIMIT)
        return;
    uint8_t *code = malloc(2 * count);
    if (code && memory_get(&cache->target->memory, start, code, 2 * count))
        entry->units = code_units_of(layout, code, count);
    free(code);
}

static int fill(struct code_cache *cache, struct code_entry *entry)
{
    struct memory *memory = &cache->target->memory;
    const struct layout *layout = &cache->target->layout;
    int status = GAIT_ERR_FORMAT;
    if (entry->print.qualified)
        status = python_text_read(memory, layout, entry->print.qualified, cache->name, TEXT_ROOM);
    if (status)
        status = python_text_read(memory, layout, entry->print.name, cache->name, TEXT_ROOM);
    if (status == 0)
        status = python_text_read(memory, layout, entry->print.file, cache->file, TEXT_ROOM);
    if (status == 0 && strcmp(cache->file, SHIM_FILE) == 0)
        status = fail(GAIT_ERR_FORMAT, "a frame of the interpreter's own that is no more");
    if (status)
        return status;
    entry->site =
        stack_trie_site(cache->trie, cache->name, cache->file, (int32_t)entry->print.first_line);
    read_lines(cache, entry);
    read_units(cache, entry);
    return 0;
}

static int renew(struct code_cache *cache, struct code_entry *entry, uint64_t address,
                 uint64_t now_ns)
{
    struct fingerprint print;
    int status = read_print(cache, address, &print);
    if (status)
        return status;
    const bool is_known = entry->address != 0;
    if (is_known && memcmp(&print, &entry->print, sizeof print) == 0) {
        entry->checked_ns = now_ns;
        if (entry->pause_ns < LONGEST_PAUSE_NS)
            entry->pause_ns *= 2;
        return 0;
    }
    struct code_entry fresh = {
        .address = address, .print = print, .checked_ns = now_ns, .pause_ns = CHECK_AFTER_NS};
    status = fill(cache, &fresh);
    if (status) {
        release(&fresh);
        return status;
    }
    cache->reused += is_known;
    if (is_known)
        cache->reused_ns = now_ns;
    cache->count += !is_known;
    cache->bytes += bytes_of(&fresh) - bytes_of(entry);
    release(entry);
    *entry = fresh;
    entry->lines = fresh.lines; // once more, for static analysis loses it
    return 0;
}

// Bytes from the function's first instruction.
static int32_t code_offset(const struct layout *layout, uint64_t address, uint64_t instruction)
{
    if (layout->minor >= 11) {
        const uint64_t start = address + (uint64_t)layout->code_instructions;
        return instruction > start && instruction - start < INT32_MAX
                   ? (int32_t)(instruction - start)
                   : 0;
    }
    const int32_t last = (int32_t)(uint32_t)instruction;
    if (last < 0 || last > INT32_MAX / 2)
        return 0;
    return layout->minor == 10 ? 2 * last : last;
}

static uint32_t frame_bytes(const struct code_cache *cache, const struct code_entry *entry)
{
    return (uint32_t)(entry->print.words * 8 + cache->target->layout.frame_bytes);
}

static void put_place(const struct code_cache *cache, const struct code_entry *entry,
                      uint64_t instruction, struct code_place *ret_place)
{
    const int32_t offset = code_offset(&cache->target->layout, entry->address, instruction);
    const struct line_entry *line = line_table_find(entry->lines, entry->line_count, offset);
    ret_place->site = entry->site;
    ret_place->line = line && line->line >= 0 ? line->line : (int32_t)entry->print.first_line;
    ret_place->is_hidden = entry->print.file == entry->print.name;
}

bool code_cache_known(struct code_cache *cache, uint64_t address, uint64_t instruction,
                      struct code_place *ret_place)
{
    const struct code_entry *entry = slot_of(cache->entries, cache->room, address);
    if (!entry->address)
        return false;
    put_place(cache, entry, instruction, ret_place);
    return true;
}

uint32_t code_cache_frame_bytes(const struct code_cache *cache, uint64_t address)
{
    const struct code_entry *entry = slot_of(cache->entries, cache->room, address);
    return entry->address ? frame_bytes(cache, entry) : 0;
}

static uint64_t unit_at(const struct code_cache *cache, uint64_t address, uint64_t instruction)
{
    return (uint64_t)code_offset(&cache->target->layout, address, instruction) / 2;
}

bool code_cache_can_wait(const struct code_cache *cache, uint64_t address, uint64_t instruction)
{
    const struct code_entry *entry = slot_of(cache->entries, cache->room, address);
    return code_units_can_wait(&entry->units, unit_at(cache, address, instruction));
}

bool code_cache_asks_generator(const struct code_cache *cache, uint64_t address,
                               uint64_t instruction)
{
    const struct code_entry *entry = slot_of(cache->entries, cache->room, address);
    return code_units_asks_generator(&entry->units, unit_at(cache, address, instruction));
}

static bool is_due(const struct code_cache *cache, const struct code_entry *entry, uint64_t now_ns)
{
    const bool is_changing = cache->reused && now_ns - cache->reused_ns < LATELY_NS;
    return !entry->address || now_ns - entry->seen_ns > CHECK_AFTER_NS ||
           now_ns - entry->checked_ns > (is_changing ? CHECK_AFTER_NS : entry->pause_ns);
}

int code_cache_place(struct code_cache *cache, uint64_t address, uint64_t instruction,
                     uint64_t now_ns, struct code_place *ret_place)
{
    const int no_room = reserve(cache);
    if (no_room)
        return no_room;
    struct code_entry *entry = slot_of(cache->entries, cache->room, address);
    if (is_due(cache, entry, now_ns)) {
        int status = renew(cache, entry, address, now_ns);
        if (status)
            return status;
    }
    entry->seen_ns = now_ns;
    put_place(cache, entry, instruction, ret_place);
    return 0;
}
