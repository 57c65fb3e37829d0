// SPDX-License-Identifier: Apache-2.0
// What of a run directory is this `gait run`'s own: several may write one, as when each
// node of a job has its own. A shard says which one started its process.
#ifndef GAIT_LAUNCH_RUN_OWN_H
#define GAIT_LAUNCH_RUN_OWN_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/trace.h>

// Whether the process of that shard was started by this `gait run`; also one of which
// nothing is known.
bool run_own_has(const struct gait_trace *trace, uint32_t shard, const char *invocation);

// Whether this one speaks for all: not where its processes are ranks and rank 0 is none
// of them.
bool run_own_speaks(const char *directory, const char *invocation);

#endif
