// SPDX-License-Identifier: Apache-2.0
// A sentence reaches stderr in one write, so that those of several ranks do not mix.
// In a log it is one line, for those who look for it; a terminal gets it wrapped.
#define _GNU_SOURCE
#include "cli/say.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "render/plain.h"

enum { SENTENCE_BYTES = 4 * PATH_MAX, INDENT = 2 };

static const char who[] = "gait: ";

static void put(const char *sentence, const char *command)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return;
    fputs(who, out);
    if (isatty(STDERR_FILENO))
        plain_wrap(out, sentence, INDENT, sizeof who - 1);
    else
        fprintf(out, "%s\n", sentence);
    if (command)
        fprintf(out, "%*s%s\n", INDENT, "", command);
    fclose(out);
    if (text)
        fputs(text, stderr);
    free(text);
}

void say(const char *format, ...)
{
    char sentence[SENTENCE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    put(sentence, NULL);
}

void say_next(const char *text, const char *command)
{
    char sentence[SENTENCE_BYTES];
    int bytes = snprintf(sentence, sizeof sentence, "%s; next: %s", text, command);
    if (bytes >= 0 && (size_t)bytes + sizeof who - 1 <= PLAIN_COLUMNS) {
        put(sentence, NULL);
        return;
    }
    snprintf(sentence, sizeof sentence, "%s; next:", text);
    put(sentence, command);
}
