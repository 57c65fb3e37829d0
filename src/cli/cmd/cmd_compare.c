// SPDX-License-Identifier: Apache-2.0
// `gait compare A B`, `gait compare A... -- B...`: what differs between two sets of runs.
#define _GNU_SOURCE
#include <stddef.h>
#include <stdlib.h>

#include <gait/trace.h>

#include "analyse/report/run_report.h"
#include "answer/compare_answer.h"
#include "base/fail.h"
#include "cli/frame/command.h"
#include "cli/io/answer_run.h"
#include "cli/io/sheet_output.h"
#include "cli/trace/trace_door.h"

enum { MOST_RUNS = 200, EXIT_UNLIKE = EXIT_USAGE, EXIT_FAILED = 1 };
#define COMPARE_BYTES ((size_t)1 << 30) // names and figures of all runs

struct compare_values {
    struct option_texts limits;
    bool allows_mismatch;
};

struct comparing {
    struct arena arena;
    struct run_metrics runs[MOST_RUNS];
    struct run_set a, b;
    struct limit limits[OPTION_MOST_TEXTS];
    struct comparison comparison;
};

static int read_run(struct comparing *comparing, size_t place, const struct operands *operands)
{
    const char *path = operands->texts[place];
    struct gait_trace *trace;
    struct run_report report;
    int status = trace_door_open(path, operands->is_uncached, &trace);
    if (status)
        return status;
    status = run_report_make(&report, trace);
    if (!status)
        status = run_metrics_make(&comparing->runs[place], &report, path, &comparing->arena);
    if (!status)
        status = run_identity_read(&comparing->runs[place].identity, trace, &comparing->arena);
    run_report_finish(&report);
    gait_trace_close(trace);
    return status;
}

static int read_runs(struct comparing *comparing, const struct operands *operands)
{
    int status = GAIT_OK;
    for (int i = 0; !status && i < operands->count; i++)
        status = read_run(comparing, (size_t)i, operands);
    // of two paths the first is A
    const size_t of_a = operands->divided_at < 0 ? 1 : (size_t)operands->divided_at;
    comparing->a = (struct run_set){comparing->runs, of_a};
    comparing->b = (struct run_set){comparing->runs + of_a, (size_t)operands->count - of_a};
    return status ? status
                  : comparison_make(&comparing->comparison, &comparing->a, &comparing->b,
                                    &comparing->arena);
}

static int read_limits(struct comparing *comparing, const struct option_texts *texts)
{
    int status = GAIT_OK;
    for (size_t i = 0; !status && i < texts->count; i++)
        status = limit_read(&comparing->limits[i], texts->texts[i]);
    return status;
}

static int check_limits(const struct comparing *comparing, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!comparison_find(&comparing->comparison, comparing->limits[i].name))
            return fail(GAIT_ERR_MISSING,
                        "the runs have no figure '%s'; without --fail-on all are listed",
                        comparing->limits[i].name);
    return GAIT_OK;
}

static int check_line(const struct operands *operands)
{
    const bool has_sides = operands->divided_at < 0
                               ? operands->count == 2
                               : operands->divided_at && operands->divided_at < operands->count;
    if (!has_sides)
        return fail(GAIT_ERR_ARGUMENT,
                    "two runs or two sets of runs are compared: gait compare A B, or gait compare "
                    "A... -- B..., with a run on each side of --");
    return sheet_wish_check(&operands->wish, operands->texts[0]);
}

static int compare(struct comparing *comparing, const struct compare_values *values,
                   const struct operands *operands)
{
    int status = check_line(operands);
    if (!status)
        status = read_limits(comparing, &values->limits);
    if (!status)
        status = read_runs(comparing, operands);
    if (!status)
        status = check_limits(comparing, values->limits.count);
    if (!status && comparing->comparison.unlike && !values->allows_mismatch)
        status = fail(GAIT_ERR_ARGUMENT,
                      "the runs are not alike: %s; --allow-mismatch compares them all the same",
                      comparing->comparison.unlike);
    return status;
}

static int answer(const struct compared *compared, const struct operands *operands)
{
    struct sheet *sheet = NULL;
    const int status = sheet_new(&sheet);
    if (!status)
        compare_answer_put(sheet, compared);
    return sheet_answer(&cmd_compare, &operands->wish, sheet, status);
}

static int run(const void *given, const struct operands *operands)
{
    const struct compare_values *values = given;
    struct comparing *comparing = calloc(1, sizeof *comparing);
    if (!comparing) {
        (void)fail(GAIT_ERR_MEMORY, "no memory to compare runs");
        return command_refuse(&cmd_compare);
    }
    arena_init(&comparing->arena, COMPARE_BYTES);
    const struct compared compared = {&comparing->comparison, &comparing->a, &comparing->b,
                                      comparing->limits, values->limits.count};
    int code = compare(comparing, values, operands) ? command_refuse(&cmd_compare)
                                                    : answer(&compared, operands);
    if (code == EXIT_OK && compare_answer_fails(&compared))
        code = EXIT_FAILED;
    arena_finish(&comparing->arena);
    free(comparing);
    return code;
}

#define AT(field) offsetof(struct compare_values, field)
static const struct option options[] = {
    {OPTION_ROW(
        OPTION_TEXTS, 0, "fail-on", "LIMIT", AT(limits),
        "fail if a figure moves beyond this, such as step.p50>5% or throughput.samples<-5%; "
        "may repeat")},
    {FLAG_ROW(0, "allow-mismatch", AT(allows_mismatch),
              "compare runs of other devices, ranks, batch sizes or types, too")},
};

const struct command cmd_compare = {
    .purpose = "say what differs between two sets of runs",
    .summary = "Compares repeats of two trainings: which figures differ, by how much, and which "
               "phases and ops made the difference.",
    .about = {"The unit is a run: give several repeats of each side. Steps of one run follow each "
              "other and are not independent, so they make one value.",
              "Differences are parts of A's mean, with their 95 % confidence interval (Welch's t). "
              "detectable is the change that would have been found nine times of ten; "
              "repeats_for_3_percent is how many runs a side find 3 %, from the upper end of the "
              "spread that the runs show.",
              "Figures: step.mean, step.p50, step.p95, phase.NAME, throughput.steps, "
              "throughput.samples, throughput.tokens, memory.peak. Of a PyTorch training steps and "
              "phases are those of its steady steps: without the first and those that compile. Ops "
              "are compared by their self time a step, where both sides recorded ops.",
              "In front of the figures stands what the two sides say of themselves and do not "
              "agree in: tags, command line, git commit, versions, machine.",
              "A limit is kept or broken when all of the interval lies on one side of it; "
              "otherwise the answer is inconclusive."},
    .examples = {{"gait compare old1 old2 old3 -- new1 new2 new3", "What the change did."},
                 {"gait compare old new",
                  "Look at two runs, which can show no more than a large difference."},
                 {"gait compare main* -- branch* --fail-on 'step.p50>5%'",
                  "As a check of a pull request."},
                 {"gait compare main* -- branch* --format md -o comment.md",
                  "The same to read there."}},
    .exit_status = "0: compared, and no limit is broken. 1: a limit is broken, or the answer is "
                   "inconclusive: also with fewer than two runs a side. 2: wrong usage, or runs "
                   "that cannot be read or are not alike.",
    .line = {.command = "compare",
             OPTIONS_ARE(options),
             .min_operands = 1,
             .max_operands = MOST_RUNS,
             .operands = "A B | A... -- B...",
             .has_sides = true,
             .has_sheet = true,
             .has_trace = true},
    .run = run,
};
