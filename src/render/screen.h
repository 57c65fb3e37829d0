// SPDX-License-Identifier: Apache-2.0
// The screen that a report is written on: where to, how, and from what; and the
// few shapes that its sections share.
#ifndef GAIT_RENDER_SCREEN_H
#define GAIT_RENDER_SCREEN_H

#include <stdio.h>

#include <gait/trace.h>

struct report_text;
struct run_report;

struct screen {
    FILE *out;
    const struct report_text *how;
    const struct run_report *report;
    const struct gait_trace *trace;
};

void screen_bold(const struct screen *screen, const char *text);

// A heading, and a sentence behind it that may need more lines than one.
void screen_section(const struct screen *screen, const char *heading, const char *text);

#endif
