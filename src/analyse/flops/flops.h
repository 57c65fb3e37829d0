// SPDX-License-Identifier: Apache-2.0
// How many floating point operations an op is, by its name and its arguments.
//
// Several ways to count, since people compare: as torch.profiler's with_flops does
// (seven ops, and their calls inside others too), as torch's FlopCounterMode does
// (which since torch 2.15 has a formula for attention on CPUs), and of the work that
// is done: like the latter, but a convolution's backward by its groups, and attention
// and recurrent layers on CPUs as well.
#ifndef GAIT_ANALYSE_FLOPS_H
#define GAIT_ANALYSE_FLOPS_H

#include <stdbool.h>
#include <stdint.h>

enum flops_way { FLOPS_TABLE, FLOPS_COUNTER, FLOPS_COUNTER_2_15, FLOPS_WORK };

// 0 where the op has no formula, or its arguments do not tell. One that is
// counted as COUNTER or WORK stands for what it calls, which is not counted.
uint64_t flops_of(const char *name, const char *shapes, enum flops_way way);

// Has the op a formula, whatever its arguments?
bool flops_has(const char *name, enum flops_way way);

#endif
