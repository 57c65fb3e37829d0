// SPDX-License-Identifier: Apache-2.0
// What a function's instructions tell of a frame that stands at one of them.
#ifndef GAIT_SAMPLE_CODE_UNITS_H
#define GAIT_SAMPLE_CODE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample/cpython/layout.h"

// A unit of code is two bytes: an instruction, or what it keeps behind it.
struct code_units {
    uint8_t *marks; // some bits for each; NULL: nothing is known
    uint64_t count;
};

// Knows nothing where there is no memory for it.
struct code_units code_units_of(const struct layout *layout, const uint8_t *code, uint64_t count);
void code_units_release(struct code_units *units); // takes a zeroed one
size_t code_units_bytes(const struct code_units *units);

// Whether a function can be under way there and not run: after its beginning, and not
// at a return.
bool code_units_can_wait(const struct code_units *units, uint64_t unit);

// Whether a frame that waits there for another in its own call of eval waits for a
// generator's: at the head of a loop, or at an await.
bool code_units_asks_generator(const struct code_units *units, uint64_t unit);

#endif
