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
    fail(GAIT_ERR_ARGUMENT, "no completion for '%s', only for bash, zsh and fish",
         operands->texts[0]);
    return command_refuse(&cmd_completion);
}

static const char *const about[] = {
    "An installed gait needs none of this: the scripts lie where the shells look for them. Of "
    "another one, let the shell load the script when it starts.",
    "With the words of a line that somebody types after 'gait', the last of them unfinished, it "
    "answers what that may become; this is what the scripts ask.",
    NULL,
};

static const struct example examples[] = {
    {"eval \"$(gait completion bash)\"", "In ~/.bashrc."},
    {"eval \"$(gait completion zsh)\"", "In ~/.zshrc, below compinit."},
    {"gait completion fish | source", "In ~/.config/fish/config.fish."},
    {NULL, NULL},
};

const struct command cmd_completion = {
    .name = "completion",
    .purpose = "let bash, zsh or fish complete gait's lines",
    .summary = "Prints the script with which that shell completes commands, options and their "
               "values, settings, files and runs.",
    .about = about,
    .examples = examples,
    .exit_status = "0: answered. 2: wrong usage.",
    .line = {.command = "completion",
             .min_operands = 1,
             .max_operands = UINT32_MAX,
             .operands = "SHELL [WORD...]",
             .choices = shells,
             .stops_at_operand = true},
    .usage_status = EXIT_USAGE,
    .is_rare = true,
    .run = run,
};
