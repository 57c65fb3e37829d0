// SPDX-License-Identifier: Apache-2.0
// Instructions are not taken apart one by one, since the words between them hold anything:
// a mark is made where a unit looks like what is looked for. A wrong one is rare.
#include "sample/cpython/code_units.h"

#include <stdlib.h>

#define MARK_BITS 2u
#define MARKS_A_BYTE (8u / MARK_BITS)

enum mark { ENDS = 1, ASKS = 2 };

static void put_mark(struct code_units *units, uint64_t unit, enum mark mark)
{
    if (unit < units->count)
        units->marks[unit / MARKS_A_BYTE] |=
            (uint8_t)((uint32_t)mark << unit % MARKS_A_BYTE * MARK_BITS);
}

static bool has_mark(const struct code_units *units, uint64_t unit, enum mark mark)
{
    return units->marks && unit < units->count &&
           units->marks[unit / MARKS_A_BYTE] >> unit % MARKS_A_BYTE * MARK_BITS & (uint32_t)mark;
}

static bool is_return(const struct layout *layout, const uint8_t *unit)
{
    const int32_t code = unit[0];
    if (code == layout->op_return || code == layout->op_return_watched)
        return unit[1] == 0;
    return code == layout->op_return_const || code == layout->op_return_const_watched;
}

// The head of a loop, or an await, which jumps to an end of its own kind: that is asked,
// too. One unit lies behind it, and counts for no jump.
static bool is_asking(const struct layout *layout, const uint8_t *code, uint64_t unit,
                      uint64_t count)
{
    const int32_t op = code[2 * unit];
    const bool is_loop = op == layout->op_loop || op == layout->op_loop_generator;
    if (!is_loop && op != layout->op_await && op != layout->op_await_generator)
        return false;
    const bool is_long = unit && code[2 * unit - 2] == layout->op_longer;
    const uint64_t jump = (is_long ? (uint64_t)code[2 * unit - 1] << 8 : 0) + code[2 * unit + 1];
    const uint64_t end = unit + 2 + jump;
    return end < count && code[2 * end] == (is_loop ? layout->op_loop_end : layout->op_await_end);
}

struct code_units code_units_of(const struct layout *layout, const uint8_t *code, uint64_t count)
{
    struct code_units units = {.count = count};
    if (count == 0)
        return units;
    units.marks = calloc(1, code_units_bytes(&units));
    if (!units.marks)
        return (struct code_units){0};
    for (uint64_t unit = 0; unit < count; unit++) {
        if (is_return(layout, code + 2 * unit))
            put_mark(&units, unit, ENDS);
        if (layout->op_loop < 0 || !is_asking(layout, code, unit, count))
            continue;
        put_mark(&units, unit, ASKS);     // where 3.13 stands while it waits,
        put_mark(&units, unit + 1, ASKS); // and 3.12
    }
    return units;
}

void code_units_release(struct code_units *units)
{
    free(units->marks);
    *units = (struct code_units){0};
}

size_t code_units_bytes(const struct code_units *units)
{
    return units->count ? units->count / MARKS_A_BYTE + 1 : 0;
}

bool code_units_can_wait(const struct code_units *units, uint64_t unit)
{
    return units->marks && unit > 0 && unit < units->count && !has_mark(units, unit, ENDS);
}

bool code_units_asks_generator(const struct code_units *units, uint64_t unit)
{
    return has_mark(units, unit, ASKS);
}
