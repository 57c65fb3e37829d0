// SPDX-License-Identifier: Apache-2.0
// All steps of a run: those that a program marked, then those that are found in a
// PyTorch training (gait/derived.h), then ProfilerStep#N of imported traces. Of one
// process they come in order of start.
#ifndef GAIT_ANALYSE_EACH_STEP_H
#define GAIT_ANALYSE_EACH_STEP_H

#include <gait/trace.h>

// `shard` is the process that made the step.
typedef void each_step_visit(const struct gait_event *step, uint32_t shard, void *context);

// Those alone that a program marked.
GAIT_CHECK int each_marked_step(struct gait_trace *trace, each_step_visit *visit, void *context);
GAIT_CHECK int each_step(struct gait_trace *trace, each_step_visit *visit, void *context);

#endif
