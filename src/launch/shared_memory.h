// SPDX-License-Identifier: Apache-2.0
// Whether programs here can have their buffers in shared memory. Where they cannot,
// these lie in the run directory.
#ifndef GAIT_LAUNCH_SHARED_MEMORY_H
#define GAIT_LAUNCH_SHARED_MEMORY_H

#include <stdint.h>

// Why not, in the system's words; NULL where they can, and how much is free.
const char *shared_memory_why_none(uint64_t *ret_free_bytes);

#endif
