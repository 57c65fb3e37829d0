// SPDX-License-Identifier: Apache-2.0
// Torch's engine sets a thread's own callbacks anew before and after each node
// of a backward, though they hardly ever change, and each time it makes all its
// lists of callbacks again: with one callback for everybody that is more than
// half of what a small backward costs. While spared, calls that change nothing
// are left out.
#ifndef GAIT_COLLECT_TORCH_REBUILDS_H
#define GAIT_COLLECT_TORCH_REBUILDS_H

#include <stdbool.h>

// Learns where a thread's callbacks lie. After torch_library_find(), and only once.
void torch_rebuilds_learn(void);

// Whether that was found, and the calls can be turned.
bool torch_rebuilds_can(void);

// Callers serialise. Nothing where it cannot be done.
void torch_rebuilds_spare(bool is_on);

#endif
