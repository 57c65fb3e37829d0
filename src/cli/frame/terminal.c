// SPDX-License-Identifier: Apache-2.0
// NO_COLOR is a convention of many tools; a dumb terminal shows escapes as letters.
#define _GNU_SOURCE
#include "cli/frame/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "render/text_look.h"

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

unsigned terminal_columns(int descriptor)
{
    struct winsize size;
    if (!isatty(descriptor) || ioctl(descriptor, TIOCGWINSZ, &size) || !size.ws_col)
        return 0;
    if (size.ws_col < TEXT_LEAST_COLUMNS)
        return TEXT_LEAST_COLUMNS;
    return size.ws_col < TEXT_MOST_COLUMNS ? size.ws_col : TEXT_MOST_COLUMNS;
}
