// SPDX-License-Identifier: Apache-2.0
// `gait help [CMD]`; with --man the page that `make docs` keeps in docs/man.
#include <string.h>

#include "cli/frame/command.h"
#include "cli/frame/help.h"
#include "cli/frame/man.h"

struct help_values {
    bool is_man;
};

static int run(const void *given, const struct operands *operands)
{
    const struct help_values *values = given;
    const struct command *command = &command_gait;
    const char *name = operands->count ? operands->texts[0] : "gait";
    if (strcmp(name, "gait") != 0 && commands_find(name, &command))
        return command_refuse(&cmd_help);
    if (values->is_man)
        man_print(stdout, command);
    else
        help_print(stdout, command);
    return command_finish_output(&cmd_help);
}

#define AT(field) offsetof(struct help_values, field)
static const struct option options[] = {
    {FLAG_ROW(0, "man", AT(is_man), "write the man page (roff) instead")},
};

const struct command cmd_help = {
    .purpose = "explain gait or one command",
    .summary = "Shows what CMD does and its options; without CMD, the list of commands.",
    .examples = {{"gait help run", "Show the options of gait run."}},
    .line = {.command = "help", OPTIONS_ARE(options), .max_operands = 1, .operands = "[CMD]"},
    .is_rare = true,
    .run = run,
};
