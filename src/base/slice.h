// SPDX-License-Identifier: Apache-2.0
// Bytes that belong to somebody else.
#ifndef GAIT_BASE_SLICE_H
#define GAIT_BASE_SLICE_H

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

#endif
