// SPDX-License-Identifier: Apache-2.0
// Sums of bytes that a file tells: hostile ones leave 64 bits, and then wrap.
#ifndef GAIT_ANALYSE_WRAP_ADD_H
#define GAIT_ANALYSE_WRAP_ADD_H

#include <stdint.h>

static inline int64_t wrap_add(int64_t left, int64_t right)
{
    return (int64_t)((uint64_t)left + (uint64_t)right);
}

static inline int64_t wrap_subtract(int64_t left, int64_t right)
{
    return (int64_t)((uint64_t)left - (uint64_t)right);
}

#endif
