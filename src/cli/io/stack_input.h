// SPDX-License-Identifier: Apache-2.0
// Stacks from what a user names: a folded file, a recording, or a folder of either.
#ifndef GAIT_CLI_STACK_INPUT_H
#define GAIT_CLI_STACK_INPUT_H

#include <stddef.h>

#include <gait/error.h>

#include "analyse/stacks/stack_set.h"

// A set of all stacks of `path`, for stack_set_finish(). Fails, with a set of zeroes,
// when there is none in it.
GAIT_CHECK int stack_input_open(struct stack_set *set, const char *path);

// The same where lines of one stack with different counts stay apart.
GAIT_CHECK int stack_input_open_lines(struct stack_set *set, const char *path);

#define PHASE_OPTION(values)                                                                       \
    {TEXT_ROW(0, "phase", "NAME", offsetof(values, phase),                                         \
              "for a run: samples in a phase or span, or in steps")}
#define STACK_FILE_OPTION                                                                          \
    {OPTION_ROW(OPTION_OPERAND, 0, "file", "PATH", 0, "as PATH, by itwinai's name"),               \
     .is_other = true}

// The same of what a thread did while it was in `phase`; NULL: of all. `path` is a run's
// folder then, which has the samples and the phases.
GAIT_CHECK int stack_input_open_phase(struct stack_set *set, const char *path, const char *phase);

// Says on stderr how many lines were no stacks, if there were any.
void stack_input_tell_bad(const struct stack_set *set, const char *command, const char *path);

#endif
