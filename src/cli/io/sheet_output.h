// SPDX-License-Identifier: Apache-2.0
// Prints an answer as the options that commands with an answer share ask for it.
#ifndef GAIT_CLI_SHEET_OUTPUT_H
#define GAIT_CLI_SHEET_OUTPUT_H

#include <gait/error.h>

#include "cli/frame/sheet_wish.h"

struct sheet;

// Refuses, before any work, what does not go together, or would write over `input`, which
// may be NULL.
GAIT_CHECK int sheet_wish_check(const struct sheet_wish *wish, const char *input);

// Prints the sheet where the wish says. Of a file nothing is left on failure.
GAIT_CHECK int sheet_output(const struct sheet_wish *wish, const struct sheet *sheet);

#endif
