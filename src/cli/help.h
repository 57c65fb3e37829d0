// SPDX-License-Identifier: Apache-2.0
// The table of a command as text: a screen for `--help`, roff for `man`.
#ifndef GAIT_CLI_HELP_H
#define GAIT_CLI_HELP_H

#include <stdio.h>

#include "cli/command.h"

enum { HELP_COLUMNS = 78, HELP_LINES = 24 };

void help_print(FILE *out, const struct command *command);

// Words of `text` on lines of HELP_COLUMNS, each but the first indented; `at`
// is the column where the first begins. Ends the last line.
void help_wrap(FILE *out, const char *text, unsigned indent, unsigned at);

#endif
