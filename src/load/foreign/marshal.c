// SPDX-License-Identifier: Apache-2.0
// The format of marshal versions 0 to 5, as CPython's Python/marshal.c writes
// it: a letter, then what belongs to it. A letter with its high bit set gives
// the value a number, by which `r` means it again.
#include "load/foreign/marshal.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/fail.h"

#define MAX_DEPTH 64
#define MAX_DIGITS 8 // of 15 bits: 120 bits, what __int128 holds with its sign
#define REFERENCE 0x80

struct reader {
    struct slice bytes;
    size_t at;
    struct arena *arena;
    const struct marshal_value **references;
    size_t reference_count, reference_room;
};

static const struct array_shape pointers = {sizeof(struct marshal_value *), UINT32_MAX};

static int parse(struct reader *reader, unsigned depth, const struct marshal_value **ret_value);

static int take(struct reader *reader, size_t count, const uint8_t **ret_bytes)
{
    if (reader->bytes.count - reader->at < count)
        return fail(GAIT_ERR_FORMAT, "it ends in the middle of a value");
    *ret_bytes = reader->bytes.bytes + reader->at;
    reader->at += count;
    return GAIT_OK;
}

// A little-endian number of 1 to 8 bytes.
static int take_number(struct reader *reader, size_t size, uint64_t *ret_number)
{
    const uint8_t *bytes = NULL;
    int status = take(reader, size, &bytes);
    if (status)
        return status;
    *ret_number = 0;
    for (size_t i = size; i--;)
        *ret_number = *ret_number << 8 | bytes[i];
    return GAIT_OK;
}

static int remember(struct reader *reader, const struct marshal_value *value)
{
    return array_add((void **)&reader->references, &reader->reference_count,
                     &reader->reference_room, &value, pointers);
}

// --- one kind each ---

static int parse_long(struct reader *reader, struct marshal_value *value)
{
    uint64_t given = 0, digit = 0;
    int status = take_number(reader, 4, &given);
    int32_t count = (int32_t)(uint32_t)given;
    uint32_t digits = count < 0 ? 0u - (uint32_t)count : (uint32_t)count;
    if (!status && digits > MAX_DIGITS)
        return fail(GAIT_ERR_FORMAT, "an integer has more than 120 bits");
    for (uint32_t i = 0; i < digits && !status; i++) {
        status = take_number(reader, 2, &digit);
        if (!status && digit > 0x7fff)
            return fail(GAIT_ERR_FORMAT, "an integer has a digit of more than 15 bits");
        value->integer |= (__int128)digit << (15 * i);
    }
    if (count < 0)
        value->integer = -value->integer;
    return status;
}

static int parse_integer(struct reader *reader, size_t size, struct marshal_value *value)
{
    uint64_t number = 0;
    int status = take_number(reader, size, &number);
    if (!status)
        value->integer = size == 4 ? (int32_t)(uint32_t)number : (int64_t)number;
    return status;
}

static int parse_real(struct reader *reader, struct marshal_value *value)
{
    uint64_t bits = 0;
    int status = take_number(reader, 8, &bits);
    if (!status)
        memcpy(&value->real, &bits, sizeof value->real);
    return status;
}

// Version 1 and older: the digits, after their number in one byte.
static int parse_real_text(struct reader *reader, struct marshal_value *value)
{
    uint64_t count = 0;
    const uint8_t *digits = NULL;
    char text[256], *end;
    int status = take_number(reader, 1, &count);
    if (!status)
        status = take(reader, count, &digits);
    if (status)
        return status;
    memcpy(text, digits, count);
    text[count] = '\0';
    value->real = strtod(text, &end);
    return !count || *end ? fail(GAIT_ERR_FORMAT, "'%s' is not a real number", text) : GAIT_OK;
}

// `size` is how many bytes its length has.
static int parse_text(struct reader *reader, size_t size, struct marshal_value *value)
{
    uint64_t count = 0;
    int status = take_number(reader, size, &count);
    if (status)
        return status;
    if (count > INT32_MAX)
        return fail(GAIT_ERR_FORMAT, "a text has a negative length");
    value->text.count = count;
    return take(reader, count, &value->text.bytes);
}

static int parse_complex(struct reader *reader)
{
    const uint8_t *skipped;
    return take(reader, 16, &skipped);
}

static int parse_items(struct reader *reader, size_t size, unsigned depth,
                       struct marshal_value *value)
{
    uint64_t count = 0;
    int status = take_number(reader, size, &count);
    if (status)
        return status;
    if (count > reader->bytes.count - reader->at) // each takes a byte at least
        return fail(GAIT_ERR_FORMAT, "a tuple has more items than there are bytes");
    const struct marshal_value **items = arena_take(reader->arena, (count + 1) * sizeof *items);
    if (!items)
        return GAIT_ERR_MEMORY;
    for (uint64_t i = 0; i < count && !status; i++) {
        status = parse(reader, depth + 1, &items[i]);
        if (!status && !items[i])
            status = fail(GAIT_ERR_FORMAT, "a tuple has a missing item");
    }
    if (status)
        return status;
    value->items = items;
    value->count = (uint32_t)count;
    return GAIT_OK;
}

// How many there are is known at the end; until then they lie in a row of their own.
struct row {
    const struct marshal_value **items;
    size_t count, room;
};

static int row_add(struct row *row, const struct marshal_value *value)
{
    return array_add((void **)&row->items, &row->count, &row->room, &value, pointers);
}

static int parse_pairs(struct reader *reader, unsigned depth, struct row *row)
{
    for (;;) {
        const struct marshal_value *key, *item;
        int status = parse(reader, depth + 1, &key);
        if (status || !key)
            return status;
        status = parse(reader, depth + 1, &item);
        if (!status && !item)
            status = fail(GAIT_ERR_FORMAT, "a key has no value");
        if (!status)
            status = row_add(row, key);
        if (!status)
            status = row_add(row, item);
        if (status)
            return status;
    }
}

static int parse_dict(struct reader *reader, unsigned depth, struct marshal_value *value)
{
    struct row row = {NULL, 0, 0};
    int status = parse_pairs(reader, depth, &row);
    const struct marshal_value **items =
        status ? NULL : arena_take(reader->arena, (row.count + 1) * sizeof *items);
    if (items) {
        for (size_t i = 0; i < row.count; i++)
            items[i] = row.items[i];
        value->items = items;
        value->count = (uint32_t)row.count;
    } else if (!status) {
        status = GAIT_ERR_MEMORY;
    }
    free(row.items);
    return status;
}

// --- any kind ---

struct letter {
    char letter;
    uint8_t size; // of the number that comes first
    enum marshal_kind kind;
};

static const struct letter letters[] = {
    {'N', 0, MARSHAL_NONE},    {'F', 0, MARSHAL_INTEGER}, {'T', 0, MARSHAL_INTEGER},
    {'i', 4, MARSHAL_INTEGER}, {'I', 8, MARSHAL_INTEGER}, {'l', 2, MARSHAL_INTEGER},
    {'g', 8, MARSHAL_REAL},    {'f', 1, MARSHAL_REAL},    {'u', 4, MARSHAL_TEXT},
    {'t', 4, MARSHAL_TEXT},    {'a', 4, MARSHAL_TEXT},    {'A', 4, MARSHAL_TEXT},
    {'z', 1, MARSHAL_TEXT},    {'Z', 1, MARSHAL_TEXT},    {'s', 4, MARSHAL_BYTES},
    {'(', 4, MARSHAL_TUPLE},   {')', 1, MARSHAL_TUPLE},   {'[', 4, MARSHAL_TUPLE},
    {'{', 0, MARSHAL_DICT},    {'.', 0, MARSHAL_OTHER},   {'S', 0, MARSHAL_OTHER},
    {'y', 16, MARSHAL_OTHER},
};

static const struct letter *find_letter(char wanted)
{
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++)
        if (letters[i].letter == wanted)
            return &letters[i];
    return NULL;
}

static int parse_content(struct reader *reader, const struct letter *letter, unsigned depth,
                         struct marshal_value *value)
{
    switch (letter->kind) {
    case MARSHAL_INTEGER:
        if (letter->letter == 'l')
            return parse_long(reader, value);
        value->integer = letter->letter == 'T';
        return letter->size ? parse_integer(reader, letter->size, value) : GAIT_OK;
    case MARSHAL_REAL:
        return letter->size == 8 ? parse_real(reader, value) : parse_real_text(reader, value);
    case MARSHAL_TEXT:
    case MARSHAL_BYTES:
        return parse_text(reader, letter->size, value);
    case MARSHAL_TUPLE:
        return parse_items(reader, letter->size, depth, value);
    case MARSHAL_DICT:
        return parse_dict(reader, depth, value);
    default:
        return letter->size ? parse_complex(reader) : GAIT_OK;
    }
}

static int parse_reference(struct reader *reader, const struct marshal_value **ret_value)
{
    uint64_t number = 0;
    int status = take_number(reader, 4, &number);
    if (status)
        return status;
    if (number >= reader->reference_count)
        return fail(GAIT_ERR_FORMAT, "a reference names value %u, which does not exist",
                    (unsigned)number);
    *ret_value = reader->references[number];
    return GAIT_OK;
}

// NULL is what ends a dict.
static int parse(struct reader *reader, unsigned depth, const struct marshal_value **ret_value)
{
    uint64_t given = 0;
    int status = take_number(reader, 1, &given);
    if (status)
        return status;
    if (depth > MAX_DEPTH)
        return fail(GAIT_ERR_FORMAT, "values are nested more than %d levels deep", MAX_DEPTH);
    char code = (char)(given & ~(uint64_t)REFERENCE);
    if (code == 'r')
        return parse_reference(reader, ret_value);
    *ret_value = NULL;
    if (code == '0')
        return GAIT_OK;
    const struct letter *letter = find_letter(code);
    if (!letter)
        return fail(GAIT_ERR_FORMAT, "byte %zu is 0x%02x, which is not the start of a plain value",
                    reader->at - 1, (unsigned)given);
    struct marshal_value *value = arena_take(reader->arena, sizeof *value);
    if (!value)
        return GAIT_ERR_MEMORY;
    *value = (struct marshal_value){.kind = letter->kind};
    // numbered in the order of their beginnings
    if (given & REFERENCE)
        status = remember(reader, value);
    if (!status)
        status = parse_content(reader, letter, depth, value);
    if (!status)
        *ret_value = value;
    return status;
}

int marshal_read(struct slice bytes, struct arena *arena, const struct marshal_value **ret_value)
{
    struct reader reader = {.bytes = bytes, .arena = arena};
    const struct marshal_value *value;
    int status = parse(&reader, 0, &value);
    free(reader.references);
    if (!status && !value)
        status = fail(GAIT_ERR_FORMAT, "it holds no value");
    if (!status)
        *ret_value = value;
    return status;
}
