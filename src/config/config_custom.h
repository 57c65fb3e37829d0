// SPDX-License-Identifier: Apache-2.0
// What the names that somebody used bring along: tools that have a setting of the same
// name count it in different units.
#ifndef GAIT_CONFIG_CONFIG_CUSTOM_H
#define GAIT_CONFIG_CONFIG_CUSTOM_H

#include "config/config.h"

// Settles what nobody said, after all places have been read:
//   - `wait`, `warmup`, `active` and their like count epochs, from the first one on, as the
//     guide of the section `profiling` has it, wherever they are said: in a file, on a line,
//     in a variable, in a mapping. With `--profile` or in a gait.yaml they count steps, and
//     the first step is left out, as the profiler decorator has it.
//   - `enable_torch_profiling` stores no traces: its tool has a flag of its own for that.
GAIT_CHECK int config_custom_settle(struct config *config, const struct config_request *request);

#endif
