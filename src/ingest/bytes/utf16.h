// SPDX-License-Identifier: Apache-2.0
// UTF-16 and UTF-32 to UTF-8 as they come: what Windows' shells write where they pipe a trace
// to a file.
#ifndef GAIT_INGEST_BYTES_UTF16_H
#define GAIT_INGEST_BYTES_UTF16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

// bytes at a time; room that anything needs; what tells the form
enum { UTF16_STRETCH = 1 << 18, UTF16_LEAST = 16, UTF16_HEAD = 4 };

// How a text is written.
struct utf16_form {
    uint8_t head[UTF16_HEAD];
    uint8_t head_bytes, mark_bytes;
    uint8_t unit_bytes; // 2, or 4: UTF-32
    bool is_big;        // the high byte comes first
};

struct utf16 {
    const struct utf16_form *form;
    size_t used;     // bytes of `in` that wait
    uint64_t broken; // halves of pairs and of units: each is U+FFFD
    uint8_t in[UTF16_STRETCH];
};

// How the text is written if it begins with a mark or, without one, as JSON does; else NULL.
const struct utf16_form *utf16_begins(struct slice text);

// How many bytes to put behind those that wait for so much room.
size_t utf16_wants(const struct utf16 *utf16, size_t room);

// Writes what waits; half of something waits on unless it is the end. Returns the bytes written.
size_t utf16_convert(struct utf16 *utf16, bool is_end, uint8_t *out);

#endif
