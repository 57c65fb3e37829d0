// SPDX-License-Identifier: Apache-2.0
// UTF-16 to UTF-8 as it comes: what Windows' shells write where they pipe a trace to a file.
#ifndef GAIT_INGEST_BYTES_UTF16_H
#define GAIT_INGEST_BYTES_UTF16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

enum { UTF16_STRETCH = 1 << 18, UTF16_LEAST = 16 }; // bytes at a time; room that anything needs

struct utf16 {
    bool is_big;     // the high byte comes first
    size_t used;     // bytes of `in` that wait
    uint64_t broken; // halves of pairs and of units: each is U+FFFD
    uint8_t in[UTF16_STRETCH];
};

// Whether the text begins as UTF-16 does, with its mark.
bool utf16_begins(struct slice text, bool *ret_is_big);

// How many bytes to put behind those that wait for so much room.
size_t utf16_wants(const struct utf16 *utf16, size_t room);

// Writes what waits; half of something waits on unless it is the end. Returns the bytes written.
size_t utf16_convert(struct utf16 *utf16, bool is_end, uint8_t *out);

#endif
