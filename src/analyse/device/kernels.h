// SPDX-License-Identifier: Apache-2.0
// Kernels by name and by the op that launched them, over all ranks.
#ifndef GAIT_ANALYSE_KERNELS_H
#define GAIT_ANALYSE_KERNELS_H

#include <gait/trace.h>

#include "analyse/steps/chosen.h"
#include "base/index/hash_index.h"
#include "facts/facts.h"

#define KERNEL_PARTS 1000000000

struct kernel_sum {
    uint32_t site, op; // op: site of the launching op; GAIT_NO_SITE: not known
    uint64_t count, sum_ns, least_ns, most_ns;
    // Weighted by the time of the kernels that tell each, in parts of KERNEL_PARTS: sums of whole
    // numbers do not depend on the order in which rows come.
    __int128 occupancy, blocks_per_sm;
    uint64_t told_ns, blocks_told_ns;
    uint64_t registers; // per thread, the most; 0: not told
};

struct kernels {
    struct kernel_sum *rows; // the longest first
    size_t count, capacity;
    struct hash_index index;
    const struct chosen *chosen; // NULL: all
};

// The answer is a struct kernels, zeroed but for the choice; its rows are in no order.
extern const struct fact_consumer kernels_consumer;

// Of those that were launched in the chosen times; NULL: of all.
GAIT_CHECK int kernels_make(struct kernels *kernels, struct gait_trace *trace,
                            const struct chosen *chosen);
void kernels_finish(struct kernels *kernels); // takes NULL and a zeroed struct

#endif
