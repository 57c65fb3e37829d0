// SPDX-License-Identifier: Apache-2.0
// A recorded run, or another tool's trace, as one measured training.
#ifndef GAIT_ANALYSE_SCALE_TRACE_H
#define GAIT_ANALYSE_SCALE_TRACE_H

#include "analyse/scale/scale_set.h"

struct gait_trace;
struct run_report;

// In itwinai's words: what its trainer calls these strategies.
const char *scale_trace_strategy(const struct run_report *report);

// Ranks that are on record, or as many as a profiler says there were.
double scale_trace_workers(const struct gait_trace *trace, const struct run_report *report);

// How many hosts there are; 0: no memory to count them.
uint32_t scale_trace_nodes(const struct gait_trace *trace);

// Epochs that are whole: the last one is not where it has fewer steps than the one before.
size_t scale_trace_epochs(const struct run_report *report);

// Adds the run; path and id are those of `like`. Fails where it has no steps.
GAIT_CHECK int scale_trace_add(struct scale_set *set, struct gait_trace *trace,
                               const struct run_report *report, const struct scale_run *like);

#endif
