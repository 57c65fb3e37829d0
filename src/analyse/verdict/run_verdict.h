// SPDX-License-Identifier: Apache-2.0
// The verdict on a run, whose other figures are known by now.
#ifndef GAIT_ANALYSE_RUN_VERDICT_H
#define GAIT_ANALYSE_RUN_VERDICT_H

#include <gait/error.h>

struct gait_trace;
struct run_report;

GAIT_CHECK int run_verdict_make(struct run_report *report, struct gait_trace *trace);

#endif
