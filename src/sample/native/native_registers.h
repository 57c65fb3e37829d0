// SPDX-License-Identifier: Apache-2.0
// Registers of x86-64 by DWARF's numbers.
#ifndef GAIT_SAMPLE_NATIVE_REGISTERS_H
#define GAIT_SAMPLE_NATIVE_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

enum { REGISTER_SP = 7, REGISTER_PC = 16, REGISTERS = 17 };

struct native_registers {
    uint64_t words[REGISTERS];
    bool is_whole; // else SP and PC alone are known
};

#endif
