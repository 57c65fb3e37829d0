// SPDX-License-Identifier: Apache-2.0
// A type is believed to be one when its own type is a type of types, and its
// name is text. Built-in types are known by name: those of a program's own have
// a flag that these lack.
#include "sample/cpython/python_object.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/fail.h"
#include "sample/cpython/python_text.h"

enum { TYPE_BYTES = 288, BASES_MOST = 16, MODULE_TRIES = 48, SKIP_MOST = 512 };

// of tp_flags, the same in all versions
#define FLAG_HEAP (UINT64_C(1) << 9)
#define FLAG_READY (UINT64_C(1) << 12)
#define FLAG_TYPE (UINT64_C(1) << 31)

void object_reader_init(struct object_reader *reader, struct memory *memory,
                        const struct layout *layout)
{
    memset(reader, 0, sizeof *reader);
    reader->memory = memory;
    reader->layout = layout;
}

bool object_get(struct object_reader *reader, uint64_t address, void *out, size_t bytes)
{
    if (!reader->left)
        return false;
    reader->left--;
    return memory_get(reader->memory, address, out, bytes);
}

uint64_t object_word(const struct object *object, int32_t offset)
{
    return offset >= 0 && offset + 8 <= OBJECT_HEAD ? bytes_get64(object->head + offset) : 0;
}

bool object_get_text(struct object_reader *reader, uint64_t address, char *out, size_t room)
{
    if (!reader->left)
        return false;
    reader->left--;
    const int status = python_text_read(reader->memory, reader->layout, address, out, room);
    if (status)
        fail_clear();
    return status == 0;
}

// The name of a type that C code made: bytes up to a 0.
static bool read_c_name(struct object_reader *reader, uint64_t address, char *out, size_t room)
{
    if (!reader->left)
        return false;
    reader->left--;
    const size_t got = memory_get_some(reader->memory, address, out, room - 1);
    out[got] = '\0';
    return *out != '\0';
}

// What `__module__` of a type says; its dict has that name first as a rule.
static bool read_module(struct object_reader *reader, uint64_t dict, char *out, size_t room)
{
    struct object object = {.address = dict};
    struct dict_walk walk;
    char key[32];
    if (!object_get(reader, dict, object.head, sizeof object.head) ||
        !dict_walk_begin(&walk, reader, &object))
        return false;
    for (int i = 0; i < MODULE_TRIES && dict_walk_next(&walk); i++)
        if (object_get_text(reader, walk.key, key, sizeof key) && strcmp(key, "__module__") == 0)
            return object_get_text(reader, walk.value, out, room);
    return false;
}

static enum object_kind kind_of_flags(uint64_t flags)
{
    static const enum object_kind kinds[] = {OBJECT_INT, OBJECT_LIST, OBJECT_TUPLE, OBJECT_BYTES,
                                             OBJECT_STR, OBJECT_DICT, OBJECT_OTHER, OBJECT_TYPE};
    for (unsigned i = 0; i < 8; i++)
        if (flags >> (24 + i) & 1)
            return kinds[i];
    return OBJECT_OTHER;
}

static enum object_kind kind_of_name(const char *name)
{
    static const struct {
        const char *name;
        enum object_kind kind;
    } names[] = {
        {"NoneType", OBJECT_NONE}, {"bool", OBJECT_BOOL}, {"int", OBJECT_INT},
        {"float", OBJECT_REAL},    {"str", OBJECT_STR},   {"bytes", OBJECT_BYTES},
        {"tuple", OBJECT_TUPLE},   {"list", OBJECT_LIST}, {"dict", OBJECT_DICT},
        {"set", OBJECT_SET},       {"cell", OBJECT_CELL}, {"frozenset", OBJECT_FROZENSET},
        {"type", OBJECT_TYPE},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i].name) == 0)
            return names[i].kind;
    return OBJECT_OTHER;
}

// Of kinds that no flag tells, the type is asked what it is derived from.
static enum object_kind kind_of_bases(struct object_reader *reader, uint64_t base)
{
    const struct layout *layout = reader->layout;
    uint8_t bytes[TYPE_BYTES];
    char name[16];
    for (int i = 0; base && i < BASES_MOST; i++) {
        if (!object_get(reader, base, bytes, sizeof bytes))
            break;
        if (!(bytes_get64(bytes + layout->type_flags) & FLAG_HEAP) &&
            read_c_name(reader, bytes_get64(bytes + layout->type_name), name, sizeof name)) {
            const enum object_kind kind = kind_of_name(name);
            if (kind == OBJECT_REAL || kind == OBJECT_SET || kind == OBJECT_FROZENSET)
                return kind;
        }
        base = bytes_get64(bytes + layout->type_base);
    }
    return OBJECT_OTHER;
}

static void name_made_type(struct object_reader *reader, const uint8_t *bytes,
                           struct object_type *type)
{
    char name[OBJECT_TYPE_NAME / 2], module[OBJECT_TYPE_NAME / 2] = "";
    uint64_t text;
    if (!object_get(reader, type->address + (uint64_t)reader->layout->type_qualified, &text,
                    sizeof text) ||
        !object_get_text(reader, text, name, sizeof name))
        return; // as C has it
    const uint64_t dict = bytes_get64(bytes + reader->layout->type_dict);
    if (read_module(reader, dict, module, sizeof module) && strcmp(module, "builtins") != 0)
        snprintf(type->name, sizeof type->name, "%s.%s", module, name);
    else
        snprintf(type->name, sizeof type->name, "%s", name);
}

static bool is_type(struct object_reader *reader, const uint8_t *bytes, uint64_t flags)
{
    uint64_t flags_of_type;
    const uint64_t type = bytes_get64(bytes + reader->layout->object_type);
    return flags & FLAG_READY &&
           object_get(reader, type + (uint64_t)reader->layout->type_flags, &flags_of_type, 8) &&
           flags_of_type & FLAG_TYPE;
}

static bool fill_type(struct object_reader *reader, struct object_type *type)
{
    const struct layout *layout = reader->layout;
    uint8_t bytes[TYPE_BYTES];
    if (layout->type_dict + 8 > TYPE_BYTES ||
        !object_get(reader, type->address, bytes, sizeof bytes))
        return false;
    const uint64_t flags = bytes_get64(bytes + layout->type_flags);
    if (!is_type(reader, bytes, flags) ||
        !read_c_name(reader, bytes_get64(bytes + layout->type_name), type->name, sizeof type->name))
        return false;
    type->kind = flags & FLAG_HEAP ? OBJECT_OTHER : kind_of_name(type->name);
    type->is_exact = type->kind != OBJECT_OTHER;
    if (type->is_exact)
        return true;
    type->kind = kind_of_flags(flags);
    if (type->kind == OBJECT_OTHER)
        type->kind = kind_of_bases(reader, bytes_get64(bytes + layout->type_base));
    if (flags & FLAG_HEAP)
        name_made_type(reader, bytes, type);
    return true;
}

static void make_plain(char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name < ' ' || *name == 127)
            *name = '?';
}

const struct object_type *object_type_at(struct object_reader *reader, uint64_t address)
{
    struct object_type *slot =
        &reader->types[(address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 58 & (OBJECT_TYPES - 1)];
    if (slot->address == address)
        return slot;
    struct object_type type = {.address = address};
    if (address & 7 || !memory_is_address(address) || !fill_type(reader, &type))
        return NULL;
    make_plain(type.name);
    *slot = type;
    return slot;
}

bool object_read(struct object_reader *reader, uint64_t address, struct object *object)
{
    object->address = address;
    if (address & 7 || !reader->left)
        return false;
    reader->left--;
    const size_t got = memory_get_some(reader->memory, address, object->head, sizeof object->head);
    if (got < (size_t)reader->layout->object_type + 8)
        return false;
    memset(object->head + got, 0, sizeof object->head - got);
    object->type = object_type_at(reader, object_word(object, reader->layout->object_type));
    return object->type != NULL;
}

uint64_t object_digits(const struct layout *layout, const struct object *object,
                       bool *ret_is_negative)
{
    const uint64_t word = object_word(object, layout->integer_size);
    if (layout->minor >= 12) {
        *ret_is_negative = (word & 3) == 2;
        return (word & 3) == 1 ? 0 : word >> 3;
    }
    *ret_is_negative = (int64_t)word < 0;
    return *ret_is_negative ? 0 - word : word;
}

bool object_uint(struct object_reader *reader, const struct object *object, uint64_t *ret_value)
{
    enum { DIGITS = 3, BITS = 30 };
    uint32_t digits[DIGITS] = {0};
    bool is_negative;
    const uint64_t count = object_digits(reader->layout, object, &is_negative);
    if (object->type->kind != OBJECT_INT || is_negative || count > DIGITS ||
        (count && !object_get(reader, object->address + (uint64_t)reader->layout->integer_digits,
                              digits, count * sizeof digits[0])) ||
        digits[2] >= 1u << (64 - 2 * BITS))
        return false;
    *ret_value = digits[0] | (uint64_t)digits[1] << BITS | (uint64_t)digits[2] << 2 * BITS;
    return true;
}

static uint32_t index_bytes(uint64_t size)
{
    return size <= 0xff ? 1 : size <= 0xffff ? 2 : size <= UINT32_MAX ? 4 : 8;
}

bool dict_walk_places(struct dict_walk *walk, struct object_reader *reader, uint64_t keys,
                      uint64_t values)
{
    const struct layout *layout = reader->layout;
    uint8_t head[48];
    memset(walk, 0, sizeof *walk);
    walk->reader = reader;
    if (layout->keys_indices > (int32_t)sizeof head ||
        !object_get(reader, keys, head, (size_t)layout->keys_indices))
        return false;
    walk->entries = keys + (uint64_t)layout->keys_indices;
    walk->count = walk->used = bytes_get64(head + layout->keys_count);
    walk->step = 24;
    if (layout->keys_kind >= 0) {
        const unsigned log = head[layout->keys_index_log];
        if (log > 40 || head[layout->keys_kind] > 2)
            return false;
        walk->entries += UINT64_C(1) << log;
        walk->step = head[layout->keys_kind] ? 16 : 24;
    } else {
        const uint64_t size = bytes_get64(head + layout->keys_size);
        if (size > UINT64_C(1) << 40)
            return false;
        walk->entries += size * index_bytes(size);
    }
    walk->values = values ? values + (uint64_t)layout->values_first : 0;
    return walk->count <= UINT64_C(1) << 40;
}

bool dict_walk_begin(struct dict_walk *walk, struct object_reader *reader,
                     const struct object *dict)
{
    const struct layout *layout = reader->layout;
    const bool is_whole = dict_walk_places(walk, reader, object_word(dict, layout->dict_keys),
                                           object_word(dict, layout->dict_values));
    walk->used = object_word(dict, layout->dict_used);
    return is_whole && walk->used <= walk->count;
}

bool dict_walk_next(struct dict_walk *walk)
{
    uint64_t entry[3];
    for (int skipped = 0; walk->at < walk->count && skipped < SKIP_MOST; skipped++) {
        const uint64_t at = walk->at++;
        if (!object_get(walk->reader, walk->entries + at * walk->step, entry, walk->step))
            return false;
        walk->key = entry[walk->step == 24];
        walk->value = entry[walk->step == 24 ? 2 : 1];
        if (walk->values &&
            !object_get(walk->reader, walk->values + 8 * at, &walk->value, sizeof walk->value))
            return false;
        if (walk->key && walk->value)
            return true;
    }
    return false;
}

uint64_t dict_walk_find(struct dict_walk *walk, const char *name)
{
    char key[OBJECT_NAME_ROOM];
    while (dict_walk_next(walk))
        if (object_get_text(walk->reader, walk->key, key, sizeof key) && !strcmp(key, name))
            return walk->value;
    return 0;
}
