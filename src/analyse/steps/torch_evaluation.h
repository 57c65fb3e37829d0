// SPDX-License-Identifier: Apache-2.0
// When a thread was evaluating: from eval() of a module that trains, or from
// the first forward in that mode, until the training goes on (docs/TORCH.md).
#ifndef GAIT_ANALYSE_TORCH_EVALUATION_H
#define GAIT_ANALYSE_TORCH_EVALUATION_H

#include <gait/error.h>

struct intervals;
struct hook_facts;
struct torch_loops;

// The loops are found and judged by the rounds that are sure.
GAIT_CHECK int torch_evaluation_find(struct intervals *periods, const struct hook_facts *facts,
                                     const struct torch_loops *loops);

#endif
