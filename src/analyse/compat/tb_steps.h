// SPDX-License-Identifier: Apache-2.0
// The steps of TensorBoard's plugin, and how it shares out their time.
#ifndef GAIT_ANALYSE_COMPAT_TB_STEPS_H
#define GAIT_ANALYSE_COMPAT_TB_STEPS_H

#include "analyse/compat/tb_rank.h"

// Fills rank->steps: rows of a step's name, else all that the host did; where calls of the
// runtime are known, each until the work that it launched is done.
GAIT_CHECK int tb_steps_find(struct tb_rank *rank);

// Shares out the time of each step by priority.
GAIT_CHECK int tb_steps_measure(struct tb_rank *rank);

#endif
