// SPDX-License-Identifier: Apache-2.0
// The steps of one thread, worked out of its facts by the rules of
// docs/TORCH.md. Pure: facts in, steps out.
#ifndef GAIT_ANALYSE_TORCH_STEPS_H
#define GAIT_ANALYSE_TORCH_STEPS_H

#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#include "analyse/steps/torch_rounds.h"

struct hook_facts;
struct torch_loops;
struct intervals;

struct torch_step {
    int64_t start_ns, end_ns;
    uint64_t samples, tokens; // of the batches asked for in it
    uint32_t loop, last_loop; // whose batch it began and ended with, or TORCH_NO_LOOP
};

struct torch_steps {
    struct torch_step *rows; // in order, apart from each other
    size_t count, capacity;
    enum torch_rounds rounds; // what makes a step; set before they are looked for
};

void torch_steps_init(struct torch_steps *steps);
void torch_steps_finish(struct torch_steps *steps); // takes NULL and a zeroed struct

// The rounds are marked, and steps->rounds says what they are.
GAIT_CHECK int torch_steps_find(struct torch_steps *steps, const struct hook_facts *facts,
                                const struct torch_loops *loops,
                                const struct intervals *evaluation);

#endif
