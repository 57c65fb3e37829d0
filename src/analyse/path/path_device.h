// SPDX-License-Identifier: Apache-2.0
// The streams of one process's devices as nodes, and what each piece of work had to wait for:
// its launch, the work before it on its stream, or work on another one.
#ifndef GAIT_ANALYSE_PATH_DEVICE_H
#define GAIT_ANALYSE_PATH_DEVICE_H

#include "analyse/path/path_host.h"

// The nodes, before the threads are added; the edges, after it and once places are sorted.
GAIT_CHECK int path_device_add(struct path_process *process);
GAIT_CHECK int path_device_link(const struct path_process *process);
void path_device_finish(struct path_process *process); // takes a zeroed struct

#endif
