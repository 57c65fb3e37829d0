// SPDX-License-Identifier: Apache-2.0
// Bytes that belong to somebody else.
#ifndef GAIT_BASE_SLICE_H
#define GAIT_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
    const uint8_t *bytes;
    size_t count;
};

static inline struct slice slice_of(const char *text)
{
    return (struct slice){(const uint8_t *)text, text ? strlen(text) : 0};
}

static inline bool slice_equals(struct slice a, struct slice b)
{
    return a.count == b.count && (!a.count || !memcmp(a.bytes, b.bytes, a.count));
}

static inline bool slice_is(struct slice slice, const char *text)
{
    return slice_equals(slice, slice_of(text));
}

static inline bool slice_starts_with(struct slice slice, const char *beginning)
{
    const size_t count = strlen(beginning);
    return slice.count >= count && memcmp(slice.bytes, beginning, count) == 0;
}

// With something before the ending: ".gz" alone has none.
static inline bool slice_ends_with(struct slice slice, const char *ending)
{
    const size_t count = strlen(ending);
    return slice.count > count && memcmp(slice.bytes + slice.count - count, ending, count) == 0;
}

#endif
