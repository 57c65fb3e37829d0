// SPDX-License-Identifier: Apache-2.0
// All steps of a run: those that a program marked, then those that are found in a
// PyTorch training (gait/derived.h), then ProfilerStep#N of imported traces. Of one
// process they come in order of start.
#ifndef GAIT_ANALYSE_EACH_STEP_H
#define GAIT_ANALYSE_EACH_STEP_H

#include <stdbool.h>

#include <gait/trace.h>

// `shard` is the process that made the step. Not 0 stops.
typedef int each_step_visit(void *context, const struct gait_event *step, uint32_t shard);

// Where a process has steps of its own, those that a profiler numbered (spans) are none; or else,
// if these are preferred, they come first and the others of their process are none.
GAIT_CHECK int each_step(struct gait_trace *trace, bool prefers_numbered, each_step_visit *visit,
                         void *context);

#endif
