// SPDX-License-Identifier: Apache-2.0
// NO_COLOR is a convention of many tools; a dumb terminal shows escapes as letters.
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool terminal_is_bold(int descriptor)
{
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
    bool is_capable = terminal && *terminal && strcmp(terminal, "dumb") != 0;
    return is_capable && !(no_color && *no_color) && isatty(descriptor);
}
