// SPDX-License-Identifier: Apache-2.0
// `gait info`: what a trace is made of, without asking what it means.
#include <stdio.h>

#include <gait/trace.h>

#include "answer/sheet.h"
#include "answer/trace_answer.h"
#include "cli/frame/command.h"
#include "cli/io/sheet_output.h"
#include "launch/run_finish.h"

struct info_values {
    struct sheet_wish wish;
};

static int run(const void *given, const struct operands *operands)
{
    const struct info_values *values = given;
    const char *path = operands->texts[0];
    struct gait_trace *trace;
    struct sheet *sheet = NULL;
    if (sheet_wish_check(&values->wish, path))
        return command_refuse(&cmd_info);
    if (run_finish_and_open(path, &trace))
        return command_refuse_trace(&cmd_info);
    int status = trace_answer_make(trace, path, &sheet);
    int code = status ? command_refuse_trace(&cmd_info) : EXIT_OK;
    if (!code)
        code = sheet_output(&values->wish, sheet) ? command_refuse(&cmd_info)
                                                  : command_finish_output(&cmd_info);
    sheet_drop(sheet);
    gait_trace_close(trace);
    return code;
}

static const struct option options[] = {
    SHEET_OPTIONS(struct info_values, wish),
};

static const char *const about[] = {
    "One line a shard: rank, process, machine, role, length, events, what was lost, size. A star "
    "marks a shard that its process did not close and nobody completed yet.",
    "Damage is named by file, offset and length; all that is intact is counted and can be read.",
    NULL,
};

static const struct example examples[] = {
    {"gait info run1", "The shards of a run."},
    {"gait info --json run1/node1-4711.gait", "One shard, for a script."},
    {NULL, NULL},
};

const struct command cmd_info = {
    .name = "info",
    .purpose = "say what a trace holds: shards, events, damage",
    .summary = "Describes a shard or a run directory: who wrote it, how much, what is missing.",
    .about = about,
    .examples = examples,
    .exit_status = COMMAND_ANSWERS,
    .line = {.command = "info", COMMAND_READS_PATH(options)},
    .usage_status = EXIT_USAGE,
    .run = run,
};
