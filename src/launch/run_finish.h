// SPDX-License-Identifier: Apache-2.0
// After the program: its shards are made whole, and how it ended is noted.
#ifndef GAIT_LAUNCH_RUN_FINISH_H
#define GAIT_LAUNCH_RUN_FINISH_H

#include <gait/error.h>

struct launch;

// Completes the shards of processes of this machine that are dead.
GAIT_CHECK int run_finish(const char *directory, const struct launch *launch);

struct gait_trace;

// Opens a trace for a command. First makes shards whole that dead processes
// left behind, where it may: their ring files would hold shared memory for ever.
GAIT_CHECK int run_finish_and_open(const char *path, struct gait_trace **ret_trace);

#endif
