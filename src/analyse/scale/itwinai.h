// SPDX-License-Identifier: Apache-2.0
// itwinai's fraction of computation: sums of the device time of all rows of torch's table of
// averages, by what their names contain. An operator, its kernel and the annotation around
// them each have a row, so that device time counts two or three times.
#ifndef GAIT_ANALYSE_ITWINAI_H
#define GAIT_ANALYSE_ITWINAI_H

#include <stdbool.h>

#include <gait/trace.h>

struct itwinai {
    uint64_t computation_ns, total_ns; // of rows that are no step
    uint64_t communication_ns;         // of the deprecated fraction
};

struct itwinai_rank {
    uint32_t shard;
    struct itwinai sums;
};

struct itwinai_run {
    struct itwinai_rank *ranks; // those with any row, in the order of the shards
    size_t count, capacity;
    struct itwinai all;
};

GAIT_CHECK int itwinai_run_make(struct itwinai_run *run, struct gait_trace *trace);
void itwinai_run_finish(struct itwinai_run *run); // takes a zeroed struct

// By what a row's name contains.
bool itwinai_is_computation(const char *name);
bool itwinai_is_communication(const char *name);

// Of all there is, and of computation and communication alone; NAN of nothing.
double itwinai_fraction(const struct itwinai *sums);
double itwinai_fraction_of_both(const struct itwinai *sums);

#endif
