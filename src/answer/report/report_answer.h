// SPDX-License-Identifier: Apache-2.0
// What `gait report` answers: the verdict first, then steps, where they go, and the rest.
// docs/REPORT.md defines every figure.
#ifndef GAIT_ANSWER_REPORT_ANSWER_H
#define GAIT_ANSWER_REPORT_ANSWER_H

#include <gait/error.h>
#include <gait/trace.h>

struct run_report;
struct sheet;

// `path` is the run as the user typed it.
GAIT_CHECK int report_answer_make(const struct run_report *report, struct gait_trace *trace,
                                  const char *path, struct sheet **ret_sheet);

#endif
