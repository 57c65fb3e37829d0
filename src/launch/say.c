// SPDX-License-Identifier: Apache-2.0
// A sentence reaches stderr in one write, so that those of several ranks do not mix.
// In a log it is one line, for those who look for it; a terminal gets it wrapped.
#define _GNU_SOURCE
#include "launch/say.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "render/plain.h"

#define GAIT "gait: "

enum { SENTENCE_BYTES = 4 * PATH_MAX, INDENT = 2, WAIT_MS = 2000 };

// What nobody takes for so long is not said: a pipe that is full for good must not
// keep a program's end, or its exit code, from coming. What fits into a pipe that
// has room at all does not block. Who waited in vain does not do so for each sentence.
void say_text(const char *text, size_t bytes)
{
    static atomic_int wait_ms = WAIT_MS;
    struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};
    fflush(stderr);
    while (bytes) {
        const int status = poll(&ready, 1, wait_ms);
        if (status < 0 && errno == EINTR)
            continue;
        wait_ms = status > 0 ? WAIT_MS : 0;
        if (status <= 0)
            return;
        const ssize_t put = write(STDERR_FILENO, text, bytes < PIPE_BUF ? bytes : PIPE_BUF);
        if (put < 0 && errno != EINTR && errno != EAGAIN)
            return;
        text += put > 0 ? put : 0;
        bytes -= put > 0 ? (size_t)put : 0;
    }
}

// Names come from files, too: none of them ends the line, or moves a cursor later.
static void put_line(FILE *out, const char *sentence)
{
    plain_put_all(out, sentence);
    fputc('\n', out);
}

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
        put_line(out, sentence);
    if (next)
        fprintf(out, "%*s%s\n", INDENT, "", next);
    fclose(out);
    if (text)
        say_text(text, bytes);
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

void say_next(const char *text, const char *why, const char *command)
{
    char sentence[SENTENCE_BYTES];
    int bytes = snprintf(sentence, sizeof sentence, "%s; %s: %s", text, why, command);
    if (bytes >= 0 && (size_t)bytes + strlen(GAIT) <= PLAIN_COLUMNS) {
        put(GAIT, sentence, NULL);
        return;
    }
    snprintf(sentence, sizeof sentence, "%s; %s:", text, why);
    put(GAIT, sentence, command);
}
