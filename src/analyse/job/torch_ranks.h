// SPDX-License-Identifier: Apache-2.0
// The ranks of a job, one after the other: the rows of their steps and their sums.
#ifndef GAIT_ANALYSE_TORCH_RANKS_H
#define GAIT_ANALYSE_TORCH_RANKS_H

#include <gait/error.h>

struct torch_gathering;

// Adds the rows of all ranks, and fills in what the report says of each.
GAIT_CHECK int torch_ranks_add(struct torch_gathering *gathering);

#endif
