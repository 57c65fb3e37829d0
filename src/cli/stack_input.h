// SPDX-License-Identifier: Apache-2.0
// Stacks from what a user names: a folded file, a recording, or a folder of either.
#ifndef GAIT_CLI_STACK_INPUT_H
#define GAIT_CLI_STACK_INPUT_H

#include <gait/error.h>

#include "analyse/stack_set.h"

// A set of all stacks of `path`, for stack_set_finish(). Fails, with a set of zeroes,
// when there is none in it.
GAIT_CHECK int stack_input_open(struct stack_set *set, const char *path);

// The same where lines of one stack with different counts stay apart.
GAIT_CHECK int stack_input_open_lines(struct stack_set *set, const char *path);

// Says on stderr how many lines were no stacks, if there were any.
void stack_input_tell_bad(const struct stack_set *set, const char *command, const char *path);

#endif
