// SPDX-License-Identifier: Apache-2.0
// Headings stand out where the terminal can do it.
#include "render/screen.h"

#include <string.h>

#include "render/plain.h"
#include "render/report_text.h"

void screen_bold(const struct screen *screen, const char *text)
{
    const char *on = screen->how->is_bold ? "\033[1m" : "", *off = *on ? "\033[0m" : "";
    fprintf(screen->out, "%s%s%s", on, text, off);
}

void screen_section(const struct screen *screen, const char *heading, const char *text)
{
    unsigned indent = (unsigned)strlen(heading) + 2;
    fputc('\n', screen->out);
    screen_bold(screen, heading);
    fputs("  ", screen->out);
    plain_wrap(screen->out, text, indent, indent);
}
