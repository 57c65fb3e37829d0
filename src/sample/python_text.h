// SPDX-License-Identifier: Apache-2.0
// A str of another process as UTF-8.
#ifndef GAIT_SAMPLE_PYTHON_TEXT_H
#define GAIT_SAMPLE_PYTHON_TEXT_H

#include <stddef.h>

#include <gait/error.h>

#include "sample/layout.h"
#include "sample/memory.h"

enum { PYTHON_TEXT_MAX = 4096 }; // characters; a longer one is cut

// Writes it to `out`, a 0 behind it; `room` should be 4 * PYTHON_TEXT_MAX + 1.
// Zero bytes and lone surrogates become '?'. Fails where no str lies.
GAIT_CHECK int python_text_read(struct memory *memory, const struct layout *layout,
                                uint64_t address, char *out, size_t room);

#endif
