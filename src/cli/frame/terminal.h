// SPDX-License-Identifier: Apache-2.0
// What may be written to somebody's terminal beside plain text.
#ifndef GAIT_CLI_TERMINAL_H
#define GAIT_CLI_TERMINAL_H

#include <stdbool.h>

// A terminal that moves its cursor when told to.
bool terminal_is_capable(int descriptor);

// A terminal that can show bold letters, and a user who did not object.
bool terminal_is_bold(int descriptor);

// How wide lines of text are made for it: as it is, within what reads well; 0: no terminal, or
// one that does not know.
unsigned terminal_columns(int descriptor);

#endif
