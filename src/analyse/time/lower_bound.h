// SPDX-License-Identifier: Apache-2.0
// Where a moment belongs in rows that are in order of time.
#ifndef GAIT_ANALYSE_LOWER_BOUND_H
#define GAIT_ANALYSE_LOWER_BOUND_H

#include <stddef.h>
#include <stdint.h>

// The place of the first row whose time is `at_ns` or later. `times` points at the
// first row's time; rows are `bytes` apart.
static inline size_t lower_bound(const int64_t *times, size_t count, size_t bytes, int64_t at_ns)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (*(const int64_t *)(const void *)((const char *)times + middle * bytes) < at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
