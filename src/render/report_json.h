// SPDX-License-Identifier: Apache-2.0
// A report as JSON, with the content of the text and times in integer
// nanoseconds. The names of its keys are kept.
#ifndef GAIT_RENDER_REPORT_JSON_H
#define GAIT_RENDER_REPORT_JSON_H

#include <stdio.h>

#include <gait/trace.h>

struct run_report;

void report_json_put(FILE *out, const struct run_report *report, const struct gait_trace *trace);

#endif
