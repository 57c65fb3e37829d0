// SPDX-License-Identifier: Apache-2.0
// The list of commands, and how any of them says that it cannot go on.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gait/trace.h>

#include "answer/answers.h"
#include "base/fail.h"
#include "base/suggest.h"
#include "cli/frame/command.h"
#include "cli/io/answer_run.h"
#include "launch/say.h"

// A command for each answer. What it says of itself stands with the answer, so it is
// copied from there when the tool starts.
#define ANSWER(name_, purpose_)                                                                    \
    static int run_##name_(const void *values, const struct operands *operands);                   \
    static char word_##name_[] = #name_;                                                           \
    static struct command cmd_##name_ = {.purpose = (purpose_),                                    \
                                         .exit_status = COMMAND_ANSWERS,                           \
                                         .line = {.command = word_##name_,                         \
                                                  .max_operands = 1,                               \
                                                  .operands = "[PATH]",                            \
                                                  .has_sheet = true,                               \
                                                  .has_trace = true},                              \
                                         .run = run_##name_};                                      \
    static int run_##name_(const void *values, const struct operands *operands)                    \
    {                                                                                              \
        return answer_run(&cmd_##name_, &name_##_answer, values, operands);                        \
    }
#include "answer/answers.def"

static void describe(struct command *command, const struct answer *answer, char *word)
{
    for (; *word; word++)
        if (*word == '_') // critical_path is critical-path
            *word = '-';
    command->summary = answer->summary;
    memcpy(command->about, answer->about, sizeof command->about);
    memcpy(command->examples, answer->examples, sizeof command->examples);
    command->line.options = answer->options;
    command->line.count = answer->count;
    command->line.choice = answer->choice;
    command->is_rare = answer->is_rare;
}

void commands_set_up(void)
{
#define ANSWER(name, purpose) describe(&cmd_##name, &name##_answer, word_##name);
#include "answer/answers.def"
}

const struct command *const commands[] = {
    &cmd_run,         &cmd_record,     &cmd_report,
#define ANSWER(name, purpose) &cmd_##name,
#include "answer/answers.def"
    &cmd_view,        &cmd_compare,    &cmd_scale,  &cmd_export,     &cmd_import,
    &cmd_plan,        &cmd_trigger,    &cmd_index,  &cmd_leaf,       &cmd_flame,
    &cmd_diff_stacks, &cmd_trace_diff, &cmd_sql,    &cmd_dump,       &cmd_top,
    &cmd_stuck,       &cmd_pstats,     &cmd_config, &cmd_completion, &cmd_doctor,
    &cmd_help,        &cmd_version,    NULL,
};

enum { MAX_COMMANDS = 64 };

int commands_find(const char *name, const struct command **ret_command)
{
    const char *names[MAX_COMMANDS + 1] = {NULL};
    size_t count = 0;
    for (const struct command *const *at = commands; *at && count < MAX_COMMANDS; at++) {
        names[count++] = (*at)->line.command;
        if (strcmp(name, (*at)->line.command) == 0) {
            *ret_command = *at;
            return GAIT_OK;
        }
    }
    const char *nearest = suggest_nearest(name, names);
    if (nearest)
        return fail(GAIT_ERR_MISSING, "unknown command '%s'; did you mean '%s'?", name, nearest);
    return fail(GAIT_ERR_MISSING, "unknown command '%s'; 'gait help' lists the commands", name);
}

static int refuse(const struct command *command, const char *sentence)
{
    fflush(stdout); // what was answered so far stands before the complaint
    say_of(command->line.command, sentence);
    return EXIT_USAGE;
}

int command_refuse(const struct command *command)
{
    return refuse(command, fail_text());
}

int command_refuse_trace(const struct command *command)
{
    return refuse(command, gait_trace_error());
}

int command_process(const struct operands *operands, int64_t *ret_pid)
{
    const char *text = operands->texts[0];
    char *end;
    errno = 0;
    const long long pid = strtoll(text, &end, 10);
    if (*end || end == text || errno || pid < 1 || pid > INT32_MAX)
        return fail(GAIT_ERR_ARGUMENT, "'%.40s' is not a process number", text);
    *ret_pid = pid;
    return GAIT_OK;
}

int command_finish_output(const struct command *command)
{
    bool failed = ferror(stdout);
    if (fflush(stdout) == 0 && !failed)
        return EXIT_OK;
    fail(GAIT_ERR_IO, "cannot write the answer: %s", strerror(errno));
    return command_refuse(command);
}
