// SPDX-License-Identifier: Apache-2.0
// The floating point operations of the steps that were on record, by op and by
// module, and what share they are of what the device can do.
#ifndef GAIT_ANALYSE_TORCH_FLOPS_H
#define GAIT_ANALYSE_TORCH_FLOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/trace.h>

#include "analyse/flops/device_peaks.h"
#include "analyse/time/intervals.h"
#include "analyse/verdict/sentences.h"

struct arena;
struct torch_report;
struct op_walk;

struct flops_op {
    const char *name;
    uint64_t calls, flops, total_ns; // time of those calls
};

struct flops_module {
    const char *name;           // "" for what was done in none
    uint64_t flops, self_flops; // with the modules inside, and without
};

struct torch_flops {
    struct intervals steps;  // of the first rank, that touch a window; rows of the arena
    size_t counted_steps;    // those in which there was anything to count
    uint64_t total, counted; // of these; counted as torch's FlopCounterMode does
    uint64_t per_step;       // of the one in the middle
    uint64_t counted_per_step;
    uint64_t kinds[PEAK_KINDS]; // total by what the tensors are; fp64 and others in none
    struct flops_op *ops;       // the most first
    size_t op_count;
    struct flops_module *modules; // the most first, parents before children
    size_t module_count;
};

struct mfu {
    bool is_known;
    double value, flops_per_s;
    double peak;        // FLOP/s, as far as it is one number
    const char *device; // of the table, or NULL
    enum note why;      // it is not known
};

// Of the process of the first rank. The steps are given.
struct flops_taking;

// Adds a walker over torch->flops.steps, of which there must be one; torch_flops_end()
// sums up what it saw and frees it.
GAIT_CHECK int torch_flops_begin(struct flops_taking **ret_taking, struct op_walk *walk,
                                 struct torch_report *torch, struct arena *arena);
GAIT_CHECK int torch_flops_end(struct flops_taking *taking);
void torch_flops_drop(struct flops_taking *taking); // takes NULL

// At the throughput's steps a second, so that FLOP/s and samples/s have one base.
struct mfu torch_flops_mfu(const struct torch_report *torch, double given_peak);

#endif
