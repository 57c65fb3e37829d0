// SPDX-License-Identifier: Apache-2.0
// The tool: finds the command, reads its line, runs it. What a command can do
// stands in its own file.
#define _GNU_SOURCE
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>

#include "cli/frame/command.h"
#include "cli/frame/help.h"

struct gait_values {
    bool is_version;
};

#define AT(field) offsetof(struct gait_values, field)
static const struct option options[] = {
    {FLAG_ROW('V', "version", AT(is_version), "show the version and exit")},
};

const struct command command_gait = {
    .purpose = "profile machine-learning training",
    .summary = "Records what a training does, and shows where its time goes.",
    .about = {"A program that uses gait records spans, steps, marks and counters; each costs "
              "little more than reading the clock. Each process writes one file, a shard (*.gait), "
              "into the run directory. That directory is a run. Its records survive any end of the "
              "process, even a kill.",
              "The commands that read take a shard or a run directory. They read a truncated or "
              "damaged file as far as possible and say what is missing."},
    .examples = {{"gait run -o run1 -- ./train && gait report run1",
                  "Record a training, then show where its time went."}},
    .exit_status = "0: success. 2: wrong usage, or unreadable input. gait run ends as the program "
                   "did, see gait-run(1).",
    .line = {.command = "",
             OPTIONS_ARE(options),
             .max_operands = 1,
             .operands = "CMD ...",
             .stops_at_operand = true},
};

// Reads the command's line and runs it.
static int run_command(const struct command *command, int argc, char **argv)
{
    alignas(max_align_t) char values[COMMAND_VALUES_BYTES] = {0};
    struct operands operands;
    int status = options_parse(&command->line, argc, argv, values, &operands);
    if (status == OPTIONS_HELP) {
        help_print(stdout, command);
        return command_finish_output(command);
    }
    if (status) {
        command_refuse(command);
        return command->usage_status ? command->usage_status : EXIT_USAGE;
    }
    // a file that may not grow (RLIMIT_FSIZE) is a failed write then, which is
    // told; a program that is started must find the signal as it was
    if (command != &cmd_run && command != &cmd_record)
        signal(SIGXFSZ, SIG_IGN);
    return command->run(values, &operands);
}

// Arguments of gait itself end where the command begins.
static int count_own(int argc, char **argv)
{
    int own = 1;
    while (own < argc && argv[own][0] == '-')
        own++;
    return own;
}

int main(int argc, char **argv)
{
    struct gait_values values = {false};
    struct operands operands;
    int own = count_own(argc, argv);
    commands_set_up();
    int status = options_parse(&command_gait.line, own - 1, argv + 1, &values, &operands);
    if (status < 0)
        return command_refuse(&command_gait);
    if (values.is_version && status != OPTIONS_HELP)
        return cmd_version.run(NULL, NULL);
    if (status == OPTIONS_HELP || own == argc) {
        help_print(status ? stdout : stderr, &command_gait);
        return status ? command_finish_output(&command_gait) : EXIT_USAGE;
    }
    const struct command *command;
    if (commands_find(argv[own], &command))
        return command_refuse(&command_gait);
    return run_command(command, argc - own - 1, argv + own + 1);
}
