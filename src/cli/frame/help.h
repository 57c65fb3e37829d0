// SPDX-License-Identifier: Apache-2.0
// The table of a command as text: a screen for `--help`, roff for `man`.
#ifndef GAIT_CLI_HELP_H
#define GAIT_CLI_HELP_H

#include <stdio.h>

#include "cli/frame/command.h"

void help_print(FILE *out, const struct command *command);

#endif
