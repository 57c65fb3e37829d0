// SPDX-License-Identifier: Apache-2.0
// Functions of 3.11 to 3.13 in a process that is only memory: each has a name and the
// same few instructions, numbered here as CPython's own opcode.py numbers them.
#ifndef GAIT_FAKE_CODE_H
#define GAIT_FAKE_CODE_H

#include <stdio.h>

#include "support/fake_process.h"

#define FAKE_TYPE (FAKE_BASE + 0x800)
#define FAKE_CODE(n) (FAKE_BASE + 0x20000 + 512u * (n)) // n < 64
#define FAKE_NAME(n) (FAKE_BASE + 0x28000 + 256u * (n))

// The units of code of each function; its frame may stand at any of them.
enum fake_unit {
    UNIT_BEGIN,
    UNIT_LOAD,
    UNIT_CALL,
    UNIT_POP,
    UNIT_RETURN,
    UNIT_RETURN_CONST, // 3.11 has none: it does nothing
    UNIT_DATA,         // behind an instruction, and looks like a return
    UNIT_LAST,
    FAKE_UNITS,
};

static inline void fake_unit(int minor, uint8_t *units, enum fake_unit unit)
{
    static const uint8_t codes[3][FAKE_UNITS] = {
        {151, 124, 171, 1, 83, 9, 83, 9},
        {151, 124, 171, 1, 83, 121, 83, 9},
        {149, 85, 53, 32, 36, 103, 36, 30},
    };
    units[2 * unit] = codes[minor - 11][unit];
    units[2 * unit + 1] = unit == UNIT_DATA ? 77 : unit == UNIT_RETURN_CONST ? 2 : 0;
}

static inline uint64_t fake_instruction(const struct layout *layout, uint32_t n,
                                        enum fake_unit unit)
{
    return FAKE_CODE(n) + (uint64_t)layout->code_instructions + 2u * unit;
}

// The function of that number, named after it. Its frames have so many words behind
// their fixed part, half of them for variables.
static inline void fake_code(struct target *target, uint32_t n, uint32_t words)
{
    const struct layout *layout = &target->layout;
    const uint64_t at = FAKE_CODE(n);
    char name[16];
    snprintf(name, sizeof name, "f%u", n);
    fake_text(layout, FAKE_NAME(n), name);
    fake_text(layout, FAKE_NAME(64), "/x/train.py");
    target->code_type = FAKE_TYPE;
    fake_put(at + (uint64_t)layout->object_type, FAKE_TYPE);
    fake_put(at + (uint64_t)layout->sized_count, FAKE_UNITS);
    fake_put(at + (uint64_t)layout->code_name, FAKE_NAME(n));
    fake_put(at + (uint64_t)layout->code_qualified, FAKE_NAME(n));
    fake_put(at + (uint64_t)layout->code_file, FAKE_NAME(64));
    fake_put32(at + (uint64_t)layout->code_first_line, 10 * (n + 1));
    fake_put32(at + (uint64_t)layout->code_variable_count, words / 2);
    fake_put32(at + (uint64_t)layout->code_stack_size, words - words / 2);
    for (int unit = 0; unit < FAKE_UNITS; unit++)
        fake_unit(layout->minor, fake.bytes + (at - FAKE_BASE) + layout->code_instructions,
                  (enum fake_unit)unit);
}

#endif
