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

#define GAIT "gait: "

enum { SENTENCE_BYTES = 4 * PATH_MAX, INDENT = 2 };

static void put(const char *who, const char *sentence, const char *next)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return;
    fputs(who, out);
    if (isatty(STDERR_FILENO))
        plain_wrap(out, sentence, INDENT, (unsigned)strlen(who));
    else
        fprintf(out, "%s\n", sentence);
    if (next)
        fprintf(out, "%*s%s\n", INDENT, "", next);
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
    put(GAIT, sentence, NULL);
}

void say_of(const char *command, const char *sentence)
{
    char who[64];
    snprintf(who, sizeof who, "gait%s%s: ", *command ? " " : "", command);
    put(who, sentence, NULL);
}

void say_next(const char *text, const char *command)
{
    char sentence[SENTENCE_BYTES];
    int bytes = snprintf(sentence, sizeof sentence, "%s; next: %s", text, command);
    if (bytes >= 0 && (size_t)bytes + strlen(GAIT) <= PLAIN_COLUMNS) {
        put(GAIT, sentence, NULL);
        return;
    }
    snprintf(sentence, sizeof sentence, "%s; next:", text);
    put(GAIT, sentence, command);
}

const char *say_path(const char *path, char *out, size_t room)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+=:,@%";
    if (path[strspn(path, plain)] == '\0' && *path)
        return path;
    size_t used = 0;
    out[used++] = '\'';
    for (; *path && used + 6 < room; path++) {
        if (*path == '\'')
            used += (size_t)snprintf(out + used, room - used, "'\\''");
        else
            out[used++] = *path;
    }
    snprintf(out + used, room - used, "'");
    return out;
}
