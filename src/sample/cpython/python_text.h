// SPDX-License-Identifier: Apache-2.0
// A str of another process as UTF-8.
#ifndef GAIT_SAMPLE_PYTHON_TEXT_H
#define GAIT_SAMPLE_PYTHON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#include "sample/cpython/layout.h"
#include "sample/remote/memory.h"

enum { PYTHON_TEXT_MAX = 4096 }; // characters; a longer one is cut

// Writes it to `out`, a 0 behind it; in full where `room` is 4 * PYTHON_TEXT_MAX + 1.
// Zero bytes and lone surrogates become '?'. Fails where no str lies.
GAIT_CHECK int python_text_read(struct memory *memory, const struct layout *layout,
                                uint64_t address, char *out, size_t room);

struct python_text_head {
    uint64_t count; // characters
    unsigned kind;  // bytes a character: 1, 2 or 4
    size_t data;    // where the characters begin, or a pointer to them is
    bool is_apart;  // a pointer: of types derived from str
};

// What the first bytes of a str say, layout->text_ascii of them; false where
// none lies there.
bool python_text_head(const struct layout *layout, const uint8_t *bytes,
                      struct python_text_head *head);

uint32_t python_text_character(const uint8_t *from, unsigned kind, uint64_t index);

// One character as UTF-8, what is none as '?': the bytes written, at most 4.
size_t python_text_put(char *out, uint32_t c);

#endif
