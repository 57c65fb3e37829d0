// SPDX-License-Identifier: Apache-2.0
// `gait completion SHELL`: the script that a shell loads. With the words of a line
// behind it: what that script asks while somebody types.
#include <string.h>

#include "base/fail.h"
#include "cli/frame/command.h"
#include "cli/frame/completion.h"

static const char *const shells[] = {"bash", "zsh", "fish", NULL};
static const char *const scripts[] = {completion_bash, completion_zsh, completion_fish};

static int run(const void *given, const struct operands *operands)
{
    (void)given;
    for (int i = 0; shells[i]; i++) {
        if (strcmp(operands->texts[0], shells[i]) != 0)
            continue;
        if (operands->count > 1)
            completion_answer(stdout, operands->texts + 1, operands->count - 1);
        else
            fputs(scripts[i], stdout);
        return command_finish_output(&cmd_completion);
    }
    fail(GAIT_ERR_ARGUMENT, "'%s' has no completion script; bash, zsh and fish have one",
         operands->texts[0]);
    return command_refuse(&cmd_completion);
}

const struct command cmd_completion = {
    .purpose = "let bash, zsh or fish complete gait's lines",
    .summary = "Prints a script. With it the shell completes commands, options and their values, "
               "settings, files and runs.",
    .about = {"An installed gait does not need this command: its scripts are where the shells look "
              "for them. Otherwise let the shell load the script when it starts.",
              "The scripts call it with the words after 'gait' on the command line; the last word "
              "may be incomplete. It prints the possible completions."},
    .examples = {{"eval \"$(gait completion bash)\"", "In ~/.bashrc."},
                 {"eval \"$(gait completion zsh)\"", "In ~/.zshrc, below compinit."},
                 {"gait completion fish | source", "In ~/.config/fish/config.fish."}},
    .exit_status = "0: success. 2: wrong usage.",
    .line = {.command = "completion",
             .min_operands = 1,
             .max_operands = UINT32_MAX,
             .operands = "SHELL [WORD...]",
             .choices = shells,
             .stops_at_operand = true},
    .is_rare = true,
    .run = run,
};
