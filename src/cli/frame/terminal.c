// SPDX-License-Identifier: Apache-2.0
// NO_COLOR is a convention of many tools; a dumb terminal shows escapes as letters.
#include "cli/frame/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool terminal_is_capable(int descriptor)
{
    const char *terminal = getenv("TERM");
    return terminal && *terminal && strcmp(terminal, "dumb") != 0 && isatty(descriptor);
}

bool terminal_is_bold(int descriptor)
{
    const char *no_color = getenv("NO_COLOR");
    return !(no_color && *no_color) && terminal_is_capable(descriptor);
}
