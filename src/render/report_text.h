// SPDX-License-Identifier: Apache-2.0
// A report as a screen of text, 78 columns wide: the verdict first, words
// before numbers, every number with its unit.
#ifndef GAIT_RENDER_REPORT_TEXT_H
#define GAIT_RENDER_REPORT_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include <gait/trace.h>

struct run_report;

struct report_text {
    const char *path; // as the user typed it
    bool is_bold;     // headings stand out: a terminal that can do it
};

void report_text_put(FILE *out, const struct report_text *how, const struct run_report *report,
                     const struct gait_trace *trace);

#endif
