// SPDX-License-Identifier: Apache-2.0
// When a thread was evaluating: from eval() of a module that trains, or from
// the first forward in that mode, until the training goes on (docs/TORCH.md).
#ifndef GAIT_ANALYSE_TORCH_EVALUATION_H
#define GAIT_ANALYSE_TORCH_EVALUATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

struct torch_facts;
struct torch_loops;

struct torch_period {
    int64_t start_ns, end_ns;
};

struct torch_periods {
    struct torch_period *rows; // in order, apart from each other
    size_t count, capacity;
};

void torch_periods_init(struct torch_periods *periods);
void torch_periods_finish(struct torch_periods *periods); // takes NULL and a zeroed struct

// What is not longer than nothing is not added.
GAIT_CHECK int torch_periods_add(struct torch_periods *periods, int64_t start_ns, int64_t end_ns);

// Brings the periods into order and joins those that touch.
void torch_periods_join(struct torch_periods *periods);

bool torch_periods_cover(const struct torch_periods *periods, int64_t at_ns);

// The loops are found and judged by optimizer steps.
GAIT_CHECK int torch_evaluation_find(struct torch_periods *periods, const struct torch_facts *facts,
                                     const struct torch_loops *loops);

#endif
