// SPDX-License-Identifier: Apache-2.0
// Some name a file by its whole path, some by an end of it.
#ifndef GAIT_ANALYSE_PATH_END_H
#define GAIT_ANALYSE_PATH_END_H

#include <stdbool.h>
#include <string.h>

#include "base/slice.h"

// "train.py" is an end of "/home/me/train.py"; "rain.py" is none, nor is the whole.
static inline bool path_end_is_of(const char *end, const char *path)
{
    const size_t bytes = strlen(path), end_bytes = strlen(end);
    return end_bytes && slice_ends_with((struct slice){(const uint8_t *)path, bytes}, end) &&
           path[bytes - end_bytes - 1] == '/';
}

// Either is an end of the other.
static inline bool path_end_is_shared(const char *a, const char *b)
{
    return path_end_is_of(a, b) || path_end_is_of(b, a);
}

#endif
