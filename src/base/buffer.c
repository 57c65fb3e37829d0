// SPDX-License-Identifier: Apache-2.0
// Grows by doubling, so that appending n bytes costs O(n) in all; a first
// reserve takes exactly what was asked, so that a size known ahead wastes
// nothing.
#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/invariant.h"

#define SMALLEST 64

void buffer_init(struct buffer *buffer, size_t limit_bytes)
{
    *buffer = (struct buffer){.limit = limit_bytes};
}

void buffer_finish(struct buffer *buffer)
{
    if (!buffer)
        return;
    free(buffer->bytes);
    *buffer = (struct buffer){.limit = buffer->limit};
}

static size_t grown_capacity(const struct buffer *buffer, size_t needed)
{
    size_t capacity = buffer->capacity;

    capacity = capacity > buffer->limit / 2 ? buffer->limit : capacity * 2;
    if (capacity < SMALLEST)
        capacity = SMALLEST < buffer->limit ? SMALLEST : buffer->limit;
    return capacity > needed ? capacity : needed;
}

uint8_t *buffer_reserve(struct buffer *buffer, size_t bytes)
{
    if (buffer->used > buffer->limit || bytes > buffer->limit - buffer->used)
        return NULL;

    const size_t needed = buffer->used + bytes;
    if (needed > buffer->capacity || !buffer->bytes) {
        const size_t capacity = grown_capacity(buffer, needed);
        uint8_t *grown = realloc(buffer->bytes, capacity ? capacity : 1);
        if (!grown)
            return NULL;
        buffer->bytes = grown;
        buffer->capacity = capacity;
    }
    GAIT_ASSERT(buffer->used + bytes <= buffer->capacity && buffer->capacity <= buffer->limit);
    return buffer->bytes + buffer->used;
}

static int no_room(const struct buffer *buffer, size_t bytes)
{
    return fail(GAIT_ERR_MEMORY, "no room for %zu bytes more after %zu (at most %zu)", bytes,
                buffer->used, buffer->limit);
}

int buffer_append(struct buffer *buffer, const void *bytes, size_t count)
{
    uint8_t *room = buffer_reserve(buffer, count);

    if (!room)
        return no_room(buffer, count);
    if (count) // memcpy from NULL is undefined even for no bytes
        memcpy(room, bytes, count);
    buffer->used += count;
    return 0;
}

int buffer_printf(struct buffer *buffer, const char *format, ...)
{
    va_list arguments;
    char small[256];

    va_start(arguments, format);
    const int length = vsnprintf(small, sizeof(small), format, arguments);
    va_end(arguments);
    if (length < 0)
        return fail(GAIT_ERR_ARGUMENT, "text '%s' cannot be formatted", format);
    if ((size_t)length < sizeof(small))
        return buffer_append(buffer, small, (size_t)length);

    // One more for the final zero, which is written but not used.
    uint8_t *room = buffer_reserve(buffer, (size_t)length + 1);
    if (!room)
        return no_room(buffer, (size_t)length + 1);
    va_start(arguments, format);
    vsnprintf((char *)room, (size_t)length + 1, format, arguments);
    va_end(arguments);
    buffer->used += (size_t)length;
    return 0;
}
