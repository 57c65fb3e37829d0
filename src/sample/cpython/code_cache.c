// SPDX-License-Identifier: Apache-2.0
// A code object that is freed leaves its address to the next one, often at once, and so
// do its texts. So what is known of an address holds for no look until what was read after
// that look says that it still does: the code object is the one that it was, or, where it
// has no number of its own (up to 3.11), it and its texts are equal to it.
#include "sample/cpython/code_cache.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/fail.h"
#include "sample/cpython/code_units.h"
#include "sample/cpython/python_text.h"

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
    uint64_t version;
};

// A text that is compared as well: its length, and its characters up to a limit.
struct known_text {
    uint64_t at;
    uint32_t bytes, data; // from its length on; from there to the characters
    uint64_t sum;
};

struct code_entry {
    uint64_t address;       // 0: a free slot
    uint64_t asked, proven; // the last looks in which it was met, and was what it is
    bool is_known;          // false: nothing is known of what lies there
    struct fingerprint print;
    struct known_text texts[CODE_TEXTS]; // of 0 bytes: it need not be compared
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
    cache->look = 1;
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

// Room for one more; within a look nothing is forgotten.
static int reserve(struct code_cache *cache)
{
    return cache->count * 2 >= cache->room ? grow(cache, cache->room * 2) : 0;
}

void code_cache_begin(struct code_cache *cache)
{
    cache->look++;
    // a program that makes functions for ever, or some that never end
    if (cache->bytes > BYTES_LIMIT || cache->count > ENTRY_LIMIT) {
        forget_all(cache);
        cache->reused++;
    }
}

static bool take_print(const struct code_cache *cache, const uint8_t *head,
                       struct fingerprint *print)
{
    const struct layout *layout = &cache->target->layout;
    memset(print, 0, sizeof *print);
    print->type = bytes_get64(head + layout->object_type);
    print->name = bytes_get64(head + layout->code_name);
    print->file = bytes_get64(head + layout->code_file);
    print->lines = bytes_get64(head + layout->code_lines);
    print->units = layout->op_return >= 0 ? bytes_get64(head + layout->sized_count) : 0;
    if (layout->code_qualified >= 0)
        print->qualified = bytes_get64(head + layout->code_qualified);
    if (layout->code_version >= 0)
        print->version = bytes_get32(head + layout->code_version);
    print->first_line = (int32_t)bytes_get32(head + layout->code_first_line);
    print->words = (int64_t)bytes_get32(head + layout->code_variable_count) +
                   bytes_get32(head + layout->code_stack_size);
    return !cache->target->code_type || print->type == cache->target->code_type;
}

static void read_lines(struct code_cache *cache, struct memory *memory, struct code_entry *entry)
{
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

static void read_units(struct code_cache *cache, struct memory *memory, struct code_entry *entry)
{
    const struct layout *layout = &cache->target->layout;
    const uint64_t count = entry->print.units;
    const uint64_t start = entry->address + (uint64_t)layout->code_instructions;
    if (count == 0 || count > UNIT_LIMIT)
        return;
    uint8_t *code = malloc(2 * count);
    if (code && memory_get(memory, start, code, 2 * count))
        entry->units = code_units_of(layout, code, count);
    free(code);
}

static uint64_t sum_of(const uint8_t *bytes, const struct known_text *text)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325) ^ bytes_get64(bytes);
    for (uint32_t i = text->data; i < text->bytes; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static void know_text(struct code_cache *cache, struct memory *memory, uint64_t address,
                      struct known_text *text)
{
    const struct layout *layout = &cache->target->layout;
    const uint32_t from = (uint32_t)layout->text_count;
    uint8_t bytes[CODE_TEXT_BYTES + LAYOUT_TEXT_BYTES];
    struct python_text_head head;
    const size_t got = memory_get_some(memory, address, bytes, CODE_TEXT_GUESS);
    if (got < (size_t)layout->text_compact || !python_text_head(layout, bytes, &head))
        return;
    const uint64_t rest = head.count * head.kind;
    text->at = address + from;
    text->data = (uint32_t)head.data - from;
    text->bytes =
        text->data +
        (uint32_t)(rest < CODE_TEXT_BYTES - text->data ? rest : CODE_TEXT_BYTES - text->data);
    if (from + text->bytes > got &&
        !memory_get(memory, address + got, bytes + got, from + text->bytes - got))
        text->bytes = text->data;
    text->sum = sum_of(bytes + from, text);
}

static int fill(struct code_cache *cache, struct memory *memory, struct code_entry *entry)
{
    const struct layout *layout = &cache->target->layout;
    const struct fingerprint *print = &entry->print;
    int status = GAIT_ERR_FORMAT;
    if (print->qualified)
        status = python_text_read(memory, layout, print->qualified, cache->name, TEXT_ROOM);
    if (status)
        status = python_text_read(memory, layout, print->name, cache->name, TEXT_ROOM);
    if (status == 0)
        status = python_text_read(memory, layout, print->file, cache->file, TEXT_ROOM);
    if (status == 0 && strcmp(cache->file, SHIM_FILE) == 0)
        status = fail(GAIT_ERR_FORMAT, "the frame belonged to the interpreter and has ended");
    if (status)
        return status;
    const int32_t line = print->first_line > 0 ? (int32_t)print->first_line : 0;
    entry->site = stack_trie_site(cache->trie, cache->name, cache->file, line);
    if (cache->bytes <= BYTES_LIMIT) {
        read_lines(cache, memory, entry);
        read_units(cache, memory, entry);
    }
    if (print->version)
        return 0;
    know_text(cache, memory, print->qualified ? print->qualified : print->name, &entry->texts[0]);
    know_text(cache, memory, print->file, &entry->texts[1]);
    return 0;
}

static void forget(struct code_cache *cache, struct code_entry *entry)
{
    const uint64_t address = entry->address, asked = entry->asked;
    cache->bytes -= bytes_of(entry);
    cache->reused += entry->is_known;
    release(entry);
    *entry = (struct code_entry){.address = address, .asked = asked};
}

enum code_state code_cache_ask(struct code_cache *cache, uint64_t address, bool may_add)
{
    struct code_entry *entry = slot_of(cache->entries, cache->room, address);
    if (entry->asked == cache->look)
        return CODE_ASKED;
    if (!entry->address && (!may_add || !memory_is_address(address) || address & 7))
        return CODE_ASKED;
    if (!entry->address && reserve(cache)) {
        fail_clear();
        return CODE_ASKED;
    }
    entry = slot_of(cache->entries, cache->room, address);
    cache->count += !entry->address;
    entry->address = address;
    entry->asked = cache->look;
    return entry->is_known ? CODE_KNOWN : CODE_NEW;
}

size_t code_cache_pieces(const struct code_cache *cache, uint64_t address, struct iovec *pieces)
{
    const struct code_entry *entry = slot_of(cache->entries, cache->room, address);
    size_t count = 0;
    pieces[count++] =
        (struct iovec){(void *)(uintptr_t)address, (size_t)cache->target->layout.code_bytes};
    for (size_t i = 0; i < CODE_TEXTS; i++)
        if (entry->texts[i].bytes)
            pieces[count++] =
                (struct iovec){(void *)(uintptr_t)entry->texts[i].at, entry->texts[i].bytes};
    return count;
}

static bool is_same_head(const struct code_cache *cache, const struct code_entry *entry,
                         const uint8_t *head)
{
    struct fingerprint print;
    return entry->is_known && take_print(cache, head, &print) &&
           memcmp(&print, &entry->print, sizeof print) == 0;
}

bool code_cache_prove(struct code_cache *cache, uint64_t address, const uint8_t *bytes)
{
    struct code_entry *entry = slot_of(cache->entries, cache->room, address);
    bool is_same = is_same_head(cache, entry, bytes);
    bytes += cache->target->layout.code_bytes;
    for (size_t i = 0; is_same && i < CODE_TEXTS; bytes += entry->texts[i++].bytes)
        is_same = !entry->texts[i].bytes || sum_of(bytes, &entry->texts[i]) == entry->texts[i].sum;
    if (is_same)
        entry->proven = cache->look;
    else if (entry->address)
        forget(cache, entry);
    return is_same;
}

void code_cache_settle(struct code_cache *cache, uint64_t address, const uint8_t *head,
                       bool is_proven)
{
    struct code_entry *entry = slot_of(cache->entries, cache->room, address);
    if (!is_same_head(cache, entry, head))
        code_cache_forget(cache, address);
    else if (is_proven)
        entry->proven = cache->look;
}

void code_cache_forget(struct code_cache *cache, uint64_t address)
{
    struct code_entry *entry = slot_of(cache->entries, cache->room, address);
    if (entry->address)
        forget(cache, entry);
}

int code_cache_learn(struct code_cache *cache, struct memory *memory, uint64_t address,
                     const uint8_t *head)
{
    struct code_entry fresh = {.address = address, .asked = cache->look, .is_known = true};
    if (!take_print(cache, head, &fresh.print))
        return fail(GAIT_ERR_FORMAT, "no code object at this address");
    int status = reserve(cache);
    if (status == 0)
        status = fill(cache, memory, &fresh);
    if (status) {
        release(&fresh);
        return status;
    }
    struct code_entry *entry = slot_of(cache->entries, cache->room, address);
    cache->count += !entry->address;
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

bool code_cache_known(const struct code_cache *cache, uint64_t address, uint64_t instruction,
                      struct code_place *ret_place)
{
    const struct code_entry *entry = slot_of(cache->entries, cache->room, address);
    if (entry->proven != cache->look)
        return false;
    put_place(cache, entry, instruction, ret_place);
    return true;
}

uint32_t code_cache_frame_bytes(const struct code_cache *cache, uint64_t address)
{
    const struct code_entry *entry = slot_of(cache->entries, cache->room, address);
    return entry->is_known ? frame_bytes(cache, entry) : 0;
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

int code_cache_place(struct code_cache *cache, uint64_t address, uint64_t instruction,
                     struct code_place *ret_place)
{
    struct memory *memory = &cache->target->memory;
    struct iovec pieces[CODE_PIECES];
    uint8_t bytes[LAYOUT_CODE_BYTES + CODE_TEXTS * CODE_TEXT_BYTES];
    if (code_cache_known(cache, address, instruction, ret_place))
        return 0;
    if (address & 7 || !memory_is_address(address))
        return fail(GAIT_ERR_FORMAT, "no code object at this address");
    const size_t count = code_cache_pieces(cache, address, pieces);
    size_t wanted = 0;
    for (size_t i = 0; i < count; i++)
        wanted += pieces[i].iov_len;
    memory->calls++;
    memory->pieces += count;
    const ssize_t got = memory->read(memory, bytes, wanted, pieces, count);
    if (got < (ssize_t)pieces[0].iov_len)
        return fail(GAIT_ERR_FORMAT, "no code object at this address");
    if (got < (ssize_t)wanted || !code_cache_prove(cache, address, bytes)) {
        const int status = code_cache_learn(cache, memory, address, bytes);
        if (status)
            return status;
    }
    struct code_entry *entry = slot_of(cache->entries, cache->room, address);
    entry->proven = cache->look;
    put_place(cache, entry, instruction, ret_place);
    return 0;
}
