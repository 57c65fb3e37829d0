// SPDX-License-Identifier: Apache-2.0
// Memory events: what torch's own reporter would be told by its allocators, of
// all threads, without taking that reporter's place.
#ifndef GAIT_COLLECT_TORCH_MEMORY_H
#define GAIT_COLLECT_TORCH_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/error.h>

// Whether this torch's allocators can be followed; looks once.
bool torch_memory_can(void);

GAIT_CHECK int torch_memory_start(void);
void torch_memory_stop(void);

uint64_t torch_memory_lost(void); // blocks that will be released without a size

#endif
