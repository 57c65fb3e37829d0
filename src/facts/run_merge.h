// SPDX-License-Identifier: Apache-2.0
// Brings rows that stand in runs, each in order, into one order.
#ifndef GAIT_FACTS_RUN_MERGE_H
#define GAIT_FACTS_RUN_MERGE_H

#include <stdbool.h>

#include "facts/fact_slice.h"

// Whether a row comes before another of its track.
static inline bool fact_row_is_before(const struct fact_row *a, const struct fact_row *b)
{
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns;
    return a->depth < b->depth;
}

// `ends[i]` is the place behind run i. Rows that are equal stay in the order of their runs.
// `room` has as many rows; `ends` is written over.
void run_merge(struct fact_row *rows, struct fact_row *room, size_t *ends, size_t runs);

#endif
