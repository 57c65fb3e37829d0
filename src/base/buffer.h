// SPDX-License-Identifier: Apache-2.0
// A growing row of bytes that is born with a maximum.
#ifndef GAIT_BASE_BUFFER_H
#define GAIT_BASE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

struct buffer {
    uint8_t *bytes;
    size_t used, capacity;
    size_t limit; // never grows past this
};

void buffer_init(struct buffer *buffer, size_t limit_bytes);
void buffer_finish(struct buffer *buffer); // takes NULL and a zeroed struct

// Room for `bytes` more after `used`, or NULL (no memory, or past the limit).
// The caller writes there and adds what it wrote to `used`.
uint8_t *buffer_reserve(struct buffer *buffer, size_t bytes);

GAIT_CHECK int buffer_append(struct buffer *buffer, const void *bytes, size_t count);
GAIT_CHECK int buffer_printf(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
