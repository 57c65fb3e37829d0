// SPDX-License-Identifier: Apache-2.0
// `gait version`, as `gait --version`.
#include <stdio.h>

#include "cli/frame/command.h"
#include "cli/version.h"
#include "format/frame.h"

static int run(const void *values, const struct operands *operands)
{
    (void)values, (void)operands;
    printf("gait " GAIT_VERSION " (trace format %d)\n", FRAME_VERSION);
    return command_finish_output(&cmd_version);
}

const struct command cmd_version = {
    .purpose = "show the version",
    .summary = "Shows the version of gait and of the trace format, as gait --version does.",
    .exit_status = "0: success. 2: wrong usage.",
    .line = {.command = "version", .operands = ""},
    .is_rare = true,
    .run = run,
};
