// SPDX-License-Identifier: Apache-2.0
// The same answer as that of `gait report`, for runs that take a second or two
// to read.
#define _GNU_SOURCE
#include "cli/run/run_screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <gait/trace.h>

#include "analyse/report/run_report.h"
#include "answer/report/report_answer.h"
#include "answer/sheet.h"
#include "base/fail.h"
#include "base/units.h"
#include "cli/frame/terminal.h"
#include "cli/io/peak_flops.h"
#include "launch/say.h"
#include "render/sheet_text.h"

// 50 to 100 ns each on one core.
#define MOST_EVENTS 20000000

static uint64_t count_events(const struct gait_trace *trace)
{
    uint64_t events = 0;
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++) {
        struct gait_shard_info shard;
        if (!gait_trace_shard(trace, i, &shard))
            events += shard.events;
    }
    return events;
}

// Made whole first, so that nobody who does not read it can hold the program's end up.
static void put_text(const struct sheet *sheet)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return;
    const struct text_look look = {.is_bold = terminal_is_bold(STDERR_FILENO),
                                   .columns = terminal_columns(STDERR_FILENO)};
    fputc('\n', out);
    const int status = sheet_put_text(sheet, &look, out);
    fputc('\n', out);
    if (fclose(out) == 0 && !status)
        say_text(text, bytes);
    free(text);
}

static void put_report(struct gait_trace *trace, const char *shown_as)
{
    struct run_report report;
    struct sheet *sheet = NULL;
    if (!run_report_make(&report, trace) && (report.has_torch || report.steps.count)) {
        if (peak_flops_read(NULL, &report.peak_flops))
            say("%s", fail_text());
        if (!report_answer_make(&report, trace, shown_as, &sheet))
            put_text(sheet);
    }
    sheet_drop(sheet);
    run_report_finish(&report);
}

void run_screen_put(const char *directory, const char *shown_as)
{
    struct gait_trace *trace;
    if (gait_trace_open(directory, &trace)) {
        fail_clear();
        return;
    }
    const uint64_t events = count_events(trace);
    if (events > MOST_EVENTS)
        say("no report here, because reading %s events takes a while", units_count(events).text);
    else
        put_report(trace, shown_as);
    gait_trace_close(trace);
    fail_clear();
}
