// SPDX-License-Identifier: Apache-2.0
// What all commands do that answer a question about a run: open it, ask, print.
#ifndef GAIT_CLI_ANSWER_RUN_H
#define GAIT_CLI_ANSWER_RUN_H

#include "cli/frame/command.h"

struct answer;
struct sheet;

// Returns an exit code. Without an operand it is about the newest run in this folder.
int answer_run(const struct command *command, const struct answer *answer, const void *values,
               const struct operands *operands);

// The end of a command: prints its sheet, or says why `status` is a failure; drops the
// sheet, which may be NULL then. Returns an exit code.
int sheet_answer(const struct command *command, const struct sheet_wish *wish, struct sheet *sheet,
                 int status);

#endif
