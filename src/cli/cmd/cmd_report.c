// SPDX-License-Identifier: Apache-2.0
// `gait report`: where the time of a training went.
#define _GNU_SOURCE
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>

#include <gait/trace.h>

#include "analyse/report/run_report.h"
#include "answer/report/report_answer.h"
#include "answer/sheet.h"
#include "base/fail.h"
#include "cli/frame/command.h"
#include "cli/io/epochs_file.h"
#include "cli/io/newest_run.h"
#include "cli/io/peak_flops.h"
#include "cli/io/sheet_output.h"
#include "cli/trace/choice_input.h"
#include "cli/trace/trace_door.h"
#include "launch/run_mark.h"
#include "launch/say.h"

struct report_values {
    const char *peak, *epochs;
    bool is_all;
};

struct asking {
    const struct report_values *values;
    const struct sheet_wish *wish;
    const char *path;
    double peak_flops;
    bool is_live;
    struct run_mark mark;
    struct choice_input choice;
};

static int answer(const struct asking *asking, const struct run_report *report,
                  struct gait_trace *trace)
{
    struct sheet_wish wish = *asking->wish;
    struct sheet *sheet = NULL;
    wish.is_all = asking->values->is_all;
    int status = report_answer_make(report, trace, asking->path, &sheet);
    if (!status) {
        choice_input_put(&asking->choice, sheet);
        status = sheet_output(&wish, sheet);
    }
    sheet_drop(sheet);
    return status;
}

// Whether the `gait run` that made the folder has not ended. Another machine's cannot be asked.
static bool is_running(const char *path, struct run_mark *mark)
{
    return run_mark_read(path, mark) && run_mark_is_here(mark) && run_mark_lives(mark);
}

// What is said of a run so far: one that has not trained yet needs no advice to do so.
static void tell_running(struct run_report *report, const char *path, int64_t pid)
{
    say("'%s' is still running (process %" PRId64 "): this is what it has recorded so far", path,
        pid);
    if (!report->steps.count)
        report->verdict.try_count = 0;
}

static int make(struct asking *asking, struct gait_trace *trace)
{
    struct run_report report;
    if (choice_input_apply(&asking->choice, &trace))
        return command_refuse(&cmd_report);
    int code = run_report_make(&report, trace) ? command_refuse_trace(&cmd_report) : EXIT_OK;
    report.peak_flops = asking->peak_flops;
    if (!code && asking->is_live)
        tell_running(&report, asking->path, asking->mark.pid);
    if (!code && (asking->values->epochs ? epochs_file_write(asking->values->epochs, &report, trace)
                                         : answer(asking, &report, trace)))
        code = command_refuse(&cmd_report);
    run_report_finish(&report);
    return code;
}

static int run(const void *given, const struct operands *operands)
{
    const struct report_values *values = given;
    char newest[PATH_MAX];
    struct asking asking = {.values = values,
                            .wish = &operands->wish,
                            .path = newest_run_or(operands, newest, sizeof newest)};
    struct gait_trace *trace;
    if (!asking.path)
        return command_refuse(&cmd_report);
    if (values->epochs && sheet_wish_is_made(&operands->wish)) {
        (void)fail(GAIT_ERR_ARGUMENT,
                   "--epochs-csv excludes --json, --format, -o and --table: leave those out");
        return command_refuse(&cmd_report);
    }
    if (choice_input_read(&asking.choice, 0, operands) ||
        sheet_wish_check(&operands->wish, asking.path) ||
        peak_flops_read(values->peak, &asking.peak_flops))
        return command_refuse(&cmd_report);
    asking.is_live = is_running(asking.path, &asking.mark);
    const int status = trace_door_open(asking.path, operands->is_uncached, &trace);
    if (status == GAIT_ERR_MISSING && asking.is_live) {
        (void)fail(status, "'%s' is still running (process %" PRId64 "), and has no record yet",
                   asking.path, asking.mark.pid);
        return command_refuse(&cmd_report);
    }
    if (status)
        return command_refuse_trace(&cmd_report);
    int code = make(&asking, trace);
    if (!code)
        code = command_finish_output(&cmd_report);
    choice_input_finish(&asking.choice);
    gait_trace_close(trace);
    return code;
}

#define AT(field) offsetof(struct report_values, field)
static const struct option options[] = {
    {FLAG_ROW(0, "all", AT(is_all), "text: all of the report, not its first screen alone")},
    {TEXT_ROW(
        0, "peak-flops", "FLOPS", AT(peak),
        "peak of the device in FLOP/s (312e12, 312T), for MFU (default: GAIT_PEAK_FLOPS, else "
        "by the name of a known device)")},
    {TEXT_ROW(0, "epochs-csv", "DIR", AT(epochs),
              "write the epochs into that folder as itwinai's epochtime_STRATEGY_NODESN.csv; - is "
              "standard output")},
};

const struct command cmd_report = {
    .purpose = "show where the time went: verdict, steps, phases",
    .summary = "Reports on a shard or a run directory: what slows the training down, how long "
               "steps took and where their time went, threads, lost events, and gait's own cost.",
    .about = {"Without PATH it reports on the run that gait run started last in the current "
              "folder, of those in which something is recorded.",
              "The verdict says what slows the training down and what to try, or that the evidence "
              "is too weak.",
              "A step of the job covers all ranks at one step number; it takes as long as its "
              "slowest rank. p50, p95 and p99 are durations of real steps (nearest rank).",
              "Time per step: a phase is an outermost span inside a step, on the thread that made "
              "the step, of the rank that was slowest in it. A span that crosses the border of a "
              "step counts as far as it lies inside; a span that was begun before a step and "
              "covers all of it is its surroundings, and the spans within count instead. Time in "
              "no span is called other. The parts sum to the steps exactly. Without steps the same "
              "is told of the main thread's whole run.",
              "Of a PyTorch training the steps and their phases are found without marks: input, "
              "copy, forward, backward, optimizer, communication, gc, compile, checkpoint, "
              "evaluation, logging, other. Its report adds findings, ranks, epochs, throughput, "
              "and the ops of the steps for which they were recorded.",
              "Threads shows the time in outermost spans, the events, and the events lost because "
              "a buffer was full."},
    .examples = {{"gait report run1", "Report on a run."},
                 {"gait report", "Report on the newest run in this folder."},
                 {"gait report --epochs-csv scalability-metrics/run1/epoch-time run1",
                  "Write the epochs for itwinai's scalability report."},
                 {"gait report run1 -o run1.html", "Write the report as one HTML page."},
                 {"gait report --format csv --table ranks run1", "Print one table as CSV."},
                 {"gait report --json run1 | jq .step.p95_ns", "Print one figure."}},
    .exit_status = COMMAND_ANSWERS,
    .line = {.command = "report",
             OPTIONS_ARE(options),
             .max_operands = 1,
             .operands = "[PATH]",
             .choice = CHOICE_RANKS | CHOICE_RANK,
             .has_sheet = true,
             .has_trace = true},
    .run = run,
};
