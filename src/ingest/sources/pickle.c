// SPDX-License-Identifier: Apache-2.0
// A table of what each opcode has behind it and does; nothing here imports or calls.
#include "ingest/sources/pickle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"

#define MOST_VALUES ((size_t)1 << 30)
#define MOST_BYTES ((size_t)1 << 36) // of texts and lists
#define MOST_TEXT ((uint64_t)256 << 20)
#define MOST_LINE ((size_t)1 << 20)

// What stands behind an opcode.
enum operand {
    NOTHING,
    BYTES_1,
    BYTES_2,
    BYTES_4,
    BYTES_8,
    LINE,
    LINES_2,
    COUNTED_1, // a length of so many bytes, and what has that length
    COUNTED_4,
    COUNTED_8,
    UNKNOWN,
};

struct operation {
    struct pickle *pickle;
    uint8_t code;
    uint64_t number;
    struct slice text, second;
};

struct opcode {
    enum operand operand;
    int (*run)(const struct operation *operation);
};

static int broken(const char *what)
{
    return fail(GAIT_ERR_FORMAT, "the pickle is damaged: %s", what);
}

// --- the stack ----------------------------------------------------------------------

static int make(struct pickle *pickle, struct pickle_value value, uint32_t *ret_number)
{
    const uint32_t number = (uint32_t)pickle->count;
    const int status = ARRAY_ADD(pickle->values, pickle->count, pickle->room, MOST_VALUES, &value);
    if (!status)
        *ret_number = number;
    return status;
}

static int push_number(struct pickle *pickle, uint32_t number)
{
    const int status =
        ARRAY_ADD(pickle->stack, pickle->depth, pickle->stack_room, MOST_VALUES, &number);
    if (!status)
        pickle->marks += pickle->values[number].kind == PICKLE_MARK;
    return status;
}

static int push(struct pickle *pickle, struct pickle_value value)
{
    uint32_t number;
    const int status = make(pickle, value, &number);
    return status ? status : push_number(pickle, number);
}

static int push_text(struct pickle *pickle, enum pickle_kind kind, struct slice text)
{
    char *copy = arena_text(&pickle->arena, text.bytes, text.count);
    if (!copy)
        return fail(GAIT_ERR_MEMORY, "no memory for the texts of a pickle");
    return push(pickle,
                (struct pickle_value){.kind = kind, .text = {(const uint8_t *)copy, text.count}});
}

static bool has(const struct pickle *pickle, size_t count)
{
    return pickle->depth >= count;
}

static uint32_t top(const struct pickle *pickle)
{
    return pickle->stack[pickle->depth - 1];
}

static void drop(struct pickle *pickle, size_t count)
{
    while (count--)
        pickle->marks -= pickle->values[pickle->stack[--pickle->depth]].kind == PICKLE_MARK;
}

// How many values are above the topmost mark.
static int above_mark(const struct pickle *pickle, size_t *ret_count)
{
    if (!pickle->marks)
        return broken("something ends that did not begin");
    size_t at = pickle->depth;
    while (pickle->values[pickle->stack[at - 1]].kind != PICKLE_MARK)
        at--;
    *ret_count = pickle->depth - at;
    return 0;
}

// --- lists and dictionaries ---------------------------------------------------------

// The topmost items; NULL where count is 0, since there may be no stack yet.
static uint32_t *topmost(const struct pickle *pickle, size_t count)
{
    return count ? pickle->stack + pickle->depth - count : NULL;
}

static int add_items(struct pickle *pickle, uint32_t into, const uint32_t *items, size_t count)
{
    struct pickle_value *list = &pickle->values[into];
    if (list->kind != PICKLE_LIST && list->kind != PICKLE_DICT)
        return list->kind == PICKLE_OPAQUE ? 0 : broken("items of something that is no list");
    if (list->kind == PICKLE_DICT)
        count -= count % 2;
    if (count > MOST_VALUES - list->count)
        return fail(GAIT_ERR_MEMORY, "a list of a pickle has too many items");
    if (list->count + count > list->room) {
        const size_t room = list->count ? (list->count + count) * 2 : count;
        uint32_t *more =
            room < MOST_VALUES ? arena_take(&pickle->arena, room * sizeof *more) : NULL;
        if (!more)
            return fail(GAIT_ERR_MEMORY, "no memory for the lists of a pickle");
        if (list->count)
            memcpy(more, list->items, list->count * sizeof *more);
        list->items = more;
        list->room = (uint32_t)room;
    }
    if (count)
        memcpy(list->items + list->count, items, count * sizeof *items);
    list->count += (uint32_t)count;
    return 0;
}

static int push_list(struct pickle *pickle, enum pickle_kind kind, size_t count, size_t mark)
{
    uint32_t number;
    int status = make(pickle, (struct pickle_value){.kind = kind}, &number);
    if (!status)
        status = add_items(pickle, number, topmost(pickle, count), count);
    if (status)
        return status;
    drop(pickle, count + mark);
    return push_number(pickle, number);
}

static int push_marked(const struct operation *operation)
{
    size_t count;
    const int status = above_mark(operation->pickle, &count);
    if (status)
        return status;
    const enum pickle_kind kind = operation->code == 'd' ? PICKLE_DICT : PICKLE_LIST;
    return push_list(operation->pickle, kind, count, 1);
}

static int push_empty(const struct operation *operation)
{
    return push_list(operation->pickle, operation->code == '}' ? PICKLE_DICT : PICKLE_LIST, 0, 0);
}

static int push_tuple(const struct operation *operation)
{
    const size_t count = operation->code - 0x84u;
    if (!has(operation->pickle, count))
        return broken("a tuple lacks its items");
    return push_list(operation->pickle, PICKLE_LIST, count, 0);
}

static int append_marked(const struct operation *operation)
{
    struct pickle *pickle = operation->pickle;
    size_t count;
    int status = above_mark(pickle, &count);
    if (!status && !has(pickle, count + 2))
        status = broken("items of nothing");
    if (!status)
        status = add_items(pickle, pickle->stack[pickle->depth - count - 2], topmost(pickle, count),
                           count);
    if (!status)
        drop(pickle, count + 1);
    return status;
}

static int append_some(const struct operation *operation)
{
    struct pickle *pickle = operation->pickle;
    const size_t count = operation->code == 's' ? 2 : 1;
    if (!has(pickle, count + 1))
        return broken("items of nothing");
    const int status =
        add_items(pickle, pickle->stack[pickle->depth - count - 1], topmost(pickle, count), count);
    if (!status)
        drop(pickle, count);
    return status;
}

// --- plain values -------------------------------------------------------------------

static int push_int(struct pickle *pickle, int64_t integer)
{
    return push(pickle, (struct pickle_value){.kind = PICKLE_INT, .integer = integer});
}

static int push_operand(const struct operation *operation)
{
    const uint64_t number = operation->number;
    return push_int(operation->pickle,
                    operation->code == 'J' ? (int64_t)(int32_t)(uint32_t)number : (int64_t)number);
}

// Little endian, two's complement. Beyond 64 bits it is a number all the same.
static int push_long(const struct operation *operation)
{
    const struct slice text = operation->text;
    uint64_t number = text.count && text.bytes[text.count - 1] >> 7 ? UINT64_MAX : 0;
    for (size_t i = text.count < 8 ? text.count : 8; i-- > 0;)
        number = number << 8 | text.bytes[i];
    if (text.count == 9 && !text.bytes[8]) // an address in the upper half
        return push_int(operation->pickle, (int64_t)number);
    if (text.count > 8)
        return push(operation->pickle,
                    (struct pickle_value){.kind = PICKLE_REAL, .real = (double)number});
    return push_int(operation->pickle, (int64_t)number);
}

static int push_real(const struct operation *operation)
{
    double real;
    const uint64_t bits = __builtin_bswap64(operation->number);
    memcpy(&real, &bits, sizeof real);
    return push(operation->pickle, (struct pickle_value){.kind = PICKLE_REAL, .real = real});
}

static int push_line_number(const struct operation *operation)
{
    char digits[64];
    snprintf(digits, sizeof digits, "%.*s",
             (int)(operation->text.count < 60 ? operation->text.count : 60),
             (const char *)operation->text.bytes);
    if (operation->code == 'F')
        return push(operation->pickle,
                    (struct pickle_value){.kind = PICKLE_REAL, .real = strtod(digits, NULL)});
    return push_int(operation->pickle, strtoll(digits, NULL, 10));
}

static int push_constant(const struct operation *operation)
{
    const struct pickle_value value = {.kind = operation->code == 'N' ? PICKLE_NONE : PICKLE_BOOL,
                                       .integer = operation->code == 0x88};
    return push(operation->pickle, value);
}

static int push_string(const struct operation *operation)
{
    struct slice text = operation->text;
    if (operation->code == 'S' && text.count >= 2) // with its quotes
        text = (struct slice){text.bytes + 1, text.count - 2};
    return push_text(operation->pickle, PICKLE_TEXT, text);
}

static int push_mark(const struct operation *operation)
{
    return push(operation->pickle, (struct pickle_value){.kind = PICKLE_MARK});
}

static int pop(const struct operation *operation)
{
    struct pickle *pickle = operation->pickle;
    size_t count = 0;
    if (!has(pickle, 1))
        return broken("it takes what is not there");
    const int status = operation->code == '1' ? above_mark(pickle, &count) : 0;
    if (!status)
        drop(pickle, count + 1);
    return status;
}

static int duplicate(const struct operation *operation)
{
    struct pickle *pickle = operation->pickle;
    return has(pickle, 1) ? push_number(pickle, top(pickle)) : broken("it repeats nothing");
}

static int do_nothing(const struct operation *operation)
{
    (void)operation;
    return 0;
}

static int stop(const struct operation *operation)
{
    operation->pickle->is_ended = true;
    return has(operation->pickle, 1) ? 0 : broken("it ends without a value");
}

// --- the memo -----------------------------------------------------------------------

static uint64_t memo_place(const struct operation *operation)
{
    if (operation->code != 'p' && operation->code != 'g')
        return operation->number;
    uint64_t place = 0;
    for (size_t i = 0; i < operation->text.count && place < MOST_VALUES; i++)
        place = place * 10 + (operation->text.bytes[i] - (unsigned)'0') % 10;
    return place;
}

// Nothing is kept under a number larger than that of values there are.
static int keep(struct pickle *pickle, uint64_t place)
{
    if (!has(pickle, 1) || place > pickle->count)
        return broken("it remembers what is not there");
    const int status =
        ARRAY_RESERVE_ZEROED(pickle->memo, pickle->memo_room, place + 1, MOST_VALUES);
    if (!status)
        pickle->memo[place] = top(pickle);
    return status;
}

static int memo_put(const struct operation *operation)
{
    return keep(operation->pickle, memo_place(operation));
}

static int memo_get(const struct operation *operation)
{
    struct pickle *pickle = operation->pickle;
    const uint64_t place = memo_place(operation);
    if (place >= pickle->memo_room || !pickle->memo[place])
        return broken("it recalls what is not there");
    return push_number(pickle, pickle->memo[place]);
}

// --- what would run code ------------------------------------------------------------

static int push_global_of(struct pickle *pickle, struct slice module, struct slice name)
{
    char text[256];
    const int bytes =
        snprintf(text, sizeof text, "%.*s.%.*s", (int)(module.count < 120 ? module.count : 120),
                 (const char *)module.bytes, (int)(name.count < 120 ? name.count : 120),
                 (const char *)name.bytes);
    return push_text(pickle, PICKLE_OPAQUE, (struct slice){(const uint8_t *)text, (size_t)bytes});
}

static int push_global(const struct operation *operation)
{
    return push_global_of(operation->pickle, operation->text, operation->second);
}

static int push_stack_global(const struct operation *operation)
{
    struct pickle *pickle = operation->pickle;
    if (!has(pickle, 2))
        return broken("a name lacks its parts");
    const struct pickle_value module = *pickle_get(pickle, pickle->stack[pickle->depth - 2]);
    const struct pickle_value name = *pickle_get(pickle, top(pickle));
    if (module.kind != PICKLE_TEXT || name.kind != PICKLE_TEXT)
        return broken("a name is no text");
    drop(pickle, 2);
    return push_global_of(pickle, module.text, name.text);
}

static int push_unknown(const struct operation *operation)
{
    return push_text(operation->pickle, PICKLE_OPAQUE, slice_of("something from elsewhere"));
}

static int replace_unknown(const struct operation *operation)
{
    if (!has(operation->pickle, 1))
        return broken("a name of nothing");
    drop(operation->pickle, 1);
    return push_unknown(operation);
}

// What is called, or made, stays opaque; its arguments go.
static int not_call(struct pickle *pickle, size_t arguments)
{
    if (!has(pickle, arguments + 1))
        return broken("a call lacks its arguments");
    drop(pickle, arguments);
    const struct pickle_value called = *pickle_get(pickle, top(pickle));
    const struct slice name =
        called.kind == PICKLE_OPAQUE ? called.text : slice_of("something that has no name");
    if (!pickle->calls++)
        pickle->first = name;
    drop(pickle, 1);
    return push(pickle, (struct pickle_value){.kind = PICKLE_OPAQUE, .text = name});
}

static int not_call_popped(const struct operation *operation)
{
    return not_call(operation->pickle, operation->code == 0x92 ? 2 : 1);
}

static int not_build(const struct operation *operation)
{
    if (!has(operation->pickle, 2))
        return broken("a state of nothing");
    drop(operation->pickle, 1);
    return 0;
}

static int not_call_marked(const struct operation *operation)
{
    struct pickle *pickle = operation->pickle;
    size_t count;
    int status = above_mark(pickle, &count);
    if (status)
        return status;
    if (operation->code == 'i') { // its name stands in the opcode
        drop(pickle, count + 1);
        status = push_global(operation);
        return status ? status : not_call(pickle, 0);
    }
    if (!count)
        return broken("a call of nothing");
    const uint32_t called = pickle->stack[pickle->depth - count];
    drop(pickle, count + 1);
    status = push_number(pickle, called);
    return status ? status : not_call(pickle, 0);
}

static int memoize(const struct operation *operation);

static const struct opcode opcodes[256] = {
    ['('] = {NOTHING, push_mark},
    ['.'] = {NOTHING, stop},
    ['0'] = {NOTHING, pop},
    ['1'] = {NOTHING, pop},
    ['2'] = {NOTHING, duplicate},
    ['F'] = {LINE, push_line_number},
    ['I'] = {LINE, push_line_number},
    ['L'] = {LINE, push_line_number},
    ['J'] = {BYTES_4, push_operand},
    ['K'] = {BYTES_1, push_operand},
    ['M'] = {BYTES_2, push_operand},
    ['N'] = {NOTHING, push_constant},
    [0x88] = {NOTHING, push_constant},
    [0x89] = {NOTHING, push_constant},
    ['G'] = {BYTES_8, push_real},
    [0x8a] = {COUNTED_1, push_long},
    [0x8b] = {COUNTED_4, push_long},
    ['S'] = {LINE, push_string},
    ['V'] = {LINE, push_string},
    ['T'] = {COUNTED_4, push_string},
    ['U'] = {COUNTED_1, push_string},
    ['X'] = {COUNTED_4, push_string},
    ['B'] = {COUNTED_4, push_string},
    ['C'] = {COUNTED_1, push_string},
    [0x8c] = {COUNTED_1, push_string},
    [0x8d] = {COUNTED_8, push_string},
    [0x8e] = {COUNTED_8, push_string},
    [0x96] = {COUNTED_8, push_string},
    [']'] = {NOTHING, push_empty},
    ['}'] = {NOTHING, push_empty},
    [')'] = {NOTHING, push_empty},
    [0x8f] = {NOTHING, push_empty},
    ['l'] = {NOTHING, push_marked},
    ['d'] = {NOTHING, push_marked},
    ['t'] = {NOTHING, push_marked},
    [0x91] = {NOTHING, push_marked},
    [0x85] = {NOTHING, push_tuple},
    [0x86] = {NOTHING, push_tuple},
    [0x87] = {NOTHING, push_tuple},
    ['a'] = {NOTHING, append_some},
    ['s'] = {NOTHING, append_some},
    ['e'] = {NOTHING, append_marked},
    ['u'] = {NOTHING, append_marked},
    [0x90] = {NOTHING, append_marked},
    ['p'] = {LINE, memo_put},
    ['q'] = {BYTES_1, memo_put},
    ['r'] = {BYTES_4, memo_put},
    [0x94] = {NOTHING, memoize},
    ['g'] = {LINE, memo_get},
    ['h'] = {BYTES_1, memo_get},
    ['j'] = {BYTES_4, memo_get},
    [0x80] = {BYTES_1, do_nothing},
    [0x95] = {BYTES_8, do_nothing},
    [0x98] = {NOTHING, do_nothing},
    ['c'] = {LINES_2, push_global},
    [0x93] = {NOTHING, push_stack_global},
    ['P'] = {LINE, push_unknown},
    [0x97] = {NOTHING, push_unknown},
    [0x82] = {BYTES_1, push_unknown},
    [0x83] = {BYTES_2, push_unknown},
    [0x84] = {BYTES_4, push_unknown},
    ['Q'] = {NOTHING, replace_unknown},
    ['b'] = {NOTHING, not_build},
    ['R'] = {NOTHING, not_call_popped},
    [0x81] = {NOTHING, not_call_popped},
    [0x92] = {NOTHING, not_call_popped},
    ['o'] = {NOTHING, not_call_marked},
    ['i'] = {LINES_2, not_call_marked},
};

// Under the next free number, which is that of puts so far.
static int memoize(const struct operation *operation)
{
    struct pickle *pickle = operation->pickle;
    return keep(pickle, pickle->memo_next++);
}

// --- bytes --------------------------------------------------------------------------

static uint64_t little_endian(const uint8_t *bytes, size_t count)
{
    uint64_t number = 0;
    while (count--)
        number = number << 8 | bytes[count];
    return number;
}

// A line at `from` behind the opcode: 1 and its text, without its end.
static int take_line(struct intake *intake, size_t from, struct slice *ret_text)
{
    for (size_t seen = from;;) {
        const struct slice rest = intake_rest(intake);
        const uint8_t *end =
            rest.count > seen ? memchr(rest.bytes + seen, '\n', rest.count - seen) : NULL;
        if ((end ? (size_t)(end - rest.bytes) : rest.count) > from + MOST_LINE)
            return broken("a line is longer than 1 MiB");
        if (end) {
            *ret_text = (struct slice){rest.bytes + from, (size_t)(end - rest.bytes) - from};
            return 1;
        }
        seen = rest.count > seen ? rest.count : seen;
        const int got = intake_need(intake, rest.count + 1);
        if (got != 1)
            return got;
    }
}

static int take_counted(struct intake *intake, size_t width, struct operation *operation,
                        size_t *ret_bytes)
{
    int got = intake_need(intake, 1 + width);
    if (got != 1)
        return got;
    const uint64_t count = little_endian(intake_rest(intake).bytes + 1, width);
    if (count > MOST_TEXT)
        return broken("a text is longer than 256 MiB");
    got = intake_need(intake, 1 + width + (size_t)count);
    if (got == 1)
        operation->text = (struct slice){intake_rest(intake).bytes + 1 + width, (size_t)count};
    *ret_bytes = 1 + width + (size_t)count;
    return got;
}

static int take_lines(struct intake *intake, bool has_two, struct operation *operation,
                      size_t *ret_bytes)
{
    int got = take_line(intake, 1, &operation->text);
    if (got != 1)
        return got;
    const size_t first = operation->text.count;
    *ret_bytes = first + 2;
    if (!has_two)
        return 1;
    got = take_line(intake, first + 2, &operation->second);
    if (got != 1)
        return got;
    operation->text = (struct slice){intake_rest(intake).bytes + 1, first}; // it may have moved
    *ret_bytes = first + operation->second.count + 3;
    return 1;
}

// What stands behind the opcode at hand: 1, 0 at the end of the file, or an error.
static int take_operand(struct intake *intake, enum operand operand, struct operation *operation,
                        size_t *ret_bytes)
{
    static const uint8_t widths[] = {
        [BYTES_1] = 1,   [BYTES_2] = 2,   [BYTES_4] = 4,   [BYTES_8] = 8,
        [COUNTED_1] = 1, [COUNTED_4] = 4, [COUNTED_8] = 8, [UNKNOWN] = 0};
    const size_t width = widths[operand];
    *ret_bytes = 1 + width;
    if (operand == LINE || operand == LINES_2)
        return take_lines(intake, operand == LINES_2, operation, ret_bytes);
    if (operand >= COUNTED_1)
        return take_counted(intake, width, operation, ret_bytes);
    const int got = intake_need(intake, 1 + width);
    if (got == 1)
        operation->number = little_endian(intake_rest(intake).bytes + 1, width);
    return got;
}

// One opcode: 1, 0 where the file ends, or an error.
static int step(struct pickle *pickle, struct intake *intake)
{
    int got = intake_need(intake, 1);
    if (got != 1)
        return got;
    struct operation operation = {.pickle = pickle, .code = *intake_rest(intake).bytes};
    const struct opcode *opcode = &opcodes[operation.code];
    size_t bytes;
    if (!opcode->run)
        return broken("it has an opcode that no protocol knows");
    got = take_operand(intake, opcode->operand, &operation, &bytes);
    if (got != 1)
        return got;
    const int status = opcode->run(&operation);
    intake->at += bytes;
    return status ? status : 1;
}

// --- the whole ----------------------------------------------------------------------

// What was begun is given what there is of it: a list that stands in front of a value lacks
// its end, and takes it.
static int close_innermost(struct pickle *pickle)
{
    size_t count = 0;
    int status = above_mark(pickle, &count);
    if (status || !has(pickle, count + 2))
        return status ? status : broken("it is cut off before anything of it is whole");
    const uint32_t into = pickle->stack[pickle->depth - count - 2];
    uint32_t *items = topmost(pickle, count);
    const bool is_dict = pickle->values[into].kind == PICKLE_DICT;
    while (is_dict && count > 2 && pickle->values[items[count - 2]].kind == PICKLE_LIST) {
        status = add_items(pickle, items[count - 2], &items[count - 1], 1);
        if (status)
            return status;
        drop(pickle, 1);
        count--;
    }
    status = add_items(pickle, into, items, count);
    drop(pickle, count + 1);
    return status;
}

static int end_early(struct pickle *pickle, struct intake *intake)
{
    int status = has(pickle, 1) ? 0 : broken("it is cut off before anything of it is whole");
    while (!status && pickle->marks)
        status = close_innermost(pickle);
    intake->repairs->counts[REPAIR_TRUNCATED]++;
    return status;
}

int pickle_read(struct pickle *pickle, struct intake *intake, uint32_t *ret_root)
{
    *pickle = (struct pickle){.count = 0};
    arena_init(&pickle->arena, MOST_BYTES);
    uint32_t none;
    int got = make(pickle, (struct pickle_value){.kind = PICKLE_NONE}, &none);
    if (!got)
        got = 1;
    while (got == 1 && !pickle->is_ended)
        got = step(pickle, intake);
    if (!got)
        got = end_early(pickle, intake);
    if (got < 0)
        return got;
    *ret_root = pickle->is_ended ? top(pickle) : pickle->stack[0];
    if (pickle->is_ended)
        intake->repairs->counts[REPAIR_TRAILING] += intake_rest(intake).count;
    intake->repairs->counts[REPAIR_OPAQUE] += pickle->calls;
    return 0;
}

void pickle_finish(struct pickle *pickle)
{
    arena_finish(&pickle->arena);
    free(pickle->values);
    free(pickle->stack);
    free(pickle->memo);
    *pickle = (struct pickle){.count = 0};
}

uint32_t pickle_member(const struct pickle *pickle, uint32_t dict, const char *key)
{
    const struct pickle_value *value = pickle_get(pickle, dict);
    if (value->kind != PICKLE_DICT)
        return 0;
    for (uint32_t i = 0; i + 1 < value->count; i += 2) {
        const struct pickle_value *name = pickle_get(pickle, value->items[i]);
        if (name->kind == PICKLE_TEXT && slice_is(name->text, key))
            return value->items[i + 1];
    }
    return 0;
}

int64_t pickle_member_int(const struct pickle *pickle, uint32_t dict, const char *key,
                          int64_t otherwise)
{
    const struct pickle_value *value = pickle_get(pickle, pickle_member(pickle, dict, key));
    return value->kind == PICKLE_INT ? value->integer : otherwise;
}

struct slice pickle_member_text(const struct pickle *pickle, uint32_t dict, const char *key)
{
    const struct pickle_value *value = pickle_get(pickle, pickle_member(pickle, dict, key));
    return value->kind == PICKLE_TEXT ? value->text : slice_of("");
}
