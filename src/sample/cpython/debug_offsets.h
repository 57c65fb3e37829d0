// SPDX-License-Identifier: Apache-2.0
// From 3.13 an interpreter describes itself: _PyRuntime begins with a table of
// its own offsets, which are right whatever it was configured with.
#ifndef GAIT_SAMPLE_DEBUG_OFFSETS_H
#define GAIT_SAMPLE_DEBUG_OFFSETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#include "sample/cpython/layout.h"

enum { DEBUG_OFFSETS_BYTES = 888 }; // of the version that tells most

// Whether these first bytes of _PyRuntime hold such a table, and of which
// version (hex, as Py_Version has it).
bool debug_offsets_version(const uint8_t *bytes, size_t count, uint64_t *ret_version);

// Puts what the table says over `layout`, the generated row of that version.
// Fails for an interpreter without the global lock: no sampler here can read it.
GAIT_CHECK int debug_offsets_apply(const uint8_t *bytes, size_t count, struct layout *layout);

#endif
