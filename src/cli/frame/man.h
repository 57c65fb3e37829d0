// SPDX-License-Identifier: Apache-2.0
// Man pages in roff, made from the same tables as `--help`. `make docs` writes
// them to docs/man, where they are kept.
#ifndef GAIT_CLI_MAN_H
#define GAIT_CLI_MAN_H

#include <stdio.h>

#include "cli/frame/command.h"

void man_print(FILE *out, const struct command *command);

#endif
