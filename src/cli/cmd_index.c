// SPDX-License-Identifier: Apache-2.0
// `gait index`: sums at several scales beside each shard, for those who draw
// long traces. Nothing is lost without them.
#include "cli/command.h"

#include "base/fail.h"

static int run(const void *given, const struct operands *operands)
{
    (void)given;
    (void)operands;
    return command_refuse(&cmd_index);
}

static const char *const about[] = {
    "Each shard gets a file <shard>.gait-index with sums over 32 spans of one thread and depth, "
    "over 8 of those, and so on. A viewer that shows hours on one screen reads those instead of "
    "all spans. They are made anew when they are older than the shard.",
    NULL,
};

static const struct example examples[] = {
    {"gait index run1", "Index all shards of a run."},
    {NULL, NULL},
};

const struct command cmd_index = {
    .name = "index",
    .purpose = "make long traces quick to draw",
    .summary = "Writes an index of sums beside each shard.",
    .about = about,
    .examples = examples,
    .exit_status = "0: written. 2: wrong usage, nothing that could be read, or no room to write.",
    .line = {.command = "index", .min_operands = 1, .max_operands = 1, .operands = "PATH"},
    .usage_status = EXIT_USAGE,
    .run = run,
};
