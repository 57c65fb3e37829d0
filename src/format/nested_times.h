// SPDX-License-Identifier: Apache-2.0
// The nested transform: starts and durations of spans in pre-order become gaps
// and tails, what neither the span before nor the spans inside tell
// (docs/FORMAT.md section 2). Rows that are not in pre-order, or do not nest,
// come back all the same: they only make large numbers. No packing.
#ifndef GAIT_FORMAT_NESTED_TIMES_H
#define GAIT_FORMAT_NESTED_TIMES_H

#include <stddef.h>
#include <stdint.h>

#define NESTED_TIMES_DEPTHS 1024 // deeper ones count modulo this

struct nested_rows {
    const uint64_t *starts, *durations;
    const uint64_t *depths; // NULL: all 0
    size_t rows;
    uint64_t first; // where the walk begins
};

// `ret_tails` has a place more than there are rows, for scratch.
void nested_times_encode(const struct nested_rows *nest, uint64_t *ret_gaps, uint64_t *ret_tails);

// Turns gaps into starts and tails into durations where they stand.
void nested_times_decode(const uint64_t *depths, size_t rows, uint64_t first, uint64_t *starts,
                         uint64_t *durations);

#endif
