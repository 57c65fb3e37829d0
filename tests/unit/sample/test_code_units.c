// SPDX-License-Identifier: Apache-2.0
// Code as 3.12 and later write it: where are its loops over generators?
// (tests/sample/test_sample_units.py asks the interpreters themselves.)
#include "sample/cpython/code_units.h"

#include <string.h>

#include "support/tap.h"

enum { LOOP, LOOP_GENERATOR, LOOP_END, AWAIT, AWAIT_GENERATOR, AWAIT_END, LONGER, OTHER };

static const uint8_t codes[4][8] = {
    {93, 65, 4, 123, 168, 5, 144, 124},
    {72, 187, 11, 104, 208, 12, 71, 85},
    {70, 171, 9, 106, 197, 10, 69, 84},
    {68, 174, 9, 105, 203, 10, 67, 83},
};

static uint8_t code[2 * 1024];

static void put(int minor, uint32_t unit, int op, uint8_t argument)
{
    code[2 * unit] = codes[minor - 12][op];
    code[2 * unit + 1] = argument;
}

// Code in which that stands at unit 10, and that at the unit to which it jumps.
static void write_code(int minor, int op, uint32_t jump, int end)
{
    memset(code, 0, sizeof code);
    if (jump > 255)
        put(minor, 9, LONGER, (uint8_t)(jump >> 8));
    put(minor, 10, op, (uint8_t)jump);
    put(minor, 12 + jump, end, 0);
}

static struct code_units look(int minor, int op, uint32_t jump, int end)
{
    write_code(minor, op, jump, end);
    return code_units_of(layout_find(minor), code, 1024);
}

static uint32_t asking(struct code_units units)
{
    uint32_t count = 0;
    for (uint64_t unit = 0; unit < units.count; unit++)
        count += code_units_asks_generator(&units, unit);
    ok(!count || (code_units_asks_generator(&units, 10) && code_units_asks_generator(&units, 11)));
    code_units_release(&units);
    return count;
}

TEST("code_units: the head of a loop and an await ask a generator, however far they jump")
{
    for (int minor = 12; minor <= 15; minor++) {
        is_u64(asking(look(minor, LOOP, 20, LOOP_END)), 2);
        is_u64(asking(look(minor, LOOP_GENERATOR, 255, LOOP_END)), 2);
        is_u64(asking(look(minor, LOOP, 700, LOOP_END)), 2);
        is_u64(asking(look(minor, AWAIT, 3, AWAIT_END)), 2);
        is_u64(asking(look(minor, AWAIT_GENERATOR, 300, AWAIT_END)), 2);
    }
}

TEST("code_units: what only looks like one jumps to no end of its kind")
{
    for (int minor = 12; minor <= 15; minor++) {
        is_u64(asking(look(minor, LOOP, 20, AWAIT_END)), 0);
        is_u64(asking(look(minor, AWAIT, 20, LOOP_END)), 0);
        is_u64(asking(look(minor, LOOP, 20, OTHER)), 0);
        is_u64(asking(look(minor, OTHER, 20, LOOP_END)), 0);
    }
}

TEST("code_units: no jump leads out of the code, and of none nothing is known")
{
    memset(code, 0, sizeof code);
    for (uint32_t unit = 0; unit < 64; unit++)
        put(13, unit, LOOP, 255);
    struct code_units units = code_units_of(layout_find(13), code, 64);
    is_u64(asking(units), 0);
    units = code_units_of(layout_find(13), code, 0);
    ok(!code_units_can_wait(&units, 0) && !code_units_asks_generator(&units, 0));
    is_u64(code_units_bytes(&units), 0);
    code_units_release(&units);
}

TEST("code_units: 3.11 asks generators by way of C code, and older frames are asked nothing")
{
    for (int minor = 8; minor <= 11; minor++) {
        write_code(12, LOOP, 20, LOOP_END);
        is_u64(asking(code_units_of(layout_find(minor), code, 1024)), 0);
    }
}
