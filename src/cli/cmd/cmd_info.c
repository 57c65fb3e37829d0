// SPDX-License-Identifier: Apache-2.0
// `gait info`: what a trace is made of, without asking what it means.
#include <stdio.h>

#include <gait/trace.h>

#include "cli/frame/command.h"
#include "launch/run_finish.h"
#include "render/trace_json.h"
#include "render/trace_text.h"

struct info_values {
    bool is_json;
};

static int run(const void *given, const struct operands *operands)
{
    const struct info_values *values = given;
    const char *path = operands->texts[0];
    struct gait_trace *trace;
    if (run_finish_and_open(path, &trace))
        return command_refuse_trace(&cmd_info);
    int status =
        values->is_json ? trace_json_put(stdout, trace) : trace_text_put(stdout, path, trace);
    int code = status ? command_refuse_trace(&cmd_info) : command_finish_output(&cmd_info);
    gait_trace_close(trace);
    return code;
}

static const struct option options[] = {
    COMMAND_JSON_OPTION(struct info_values, "answer in JSON, times in integer nanoseconds"),
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
