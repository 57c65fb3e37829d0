// SPDX-License-Identifier: Apache-2.0
// One story a thread, behind a single thread-local pointer: the recorder lives
// in other people's processes, where static TLS is scarce. A thread that never
// fails pays eight bytes; the text is taken at its first failure and given back
// by a key destructor when the thread ends.
#include "base/fail.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef fail
#undef fail_because

// The longest story seen in practice (three causes, each with a path) is below
// 600 bytes; what is longer loses its end, which holds the remotest cause.
#define STORY_BYTES 1024

static __thread char *story;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int key_status = -1;

static void free_story(void *text)
{
    free(text);
    story = NULL;
}

static void create_key(void)
{
    key_status = pthread_key_create(&key, free_story);
}

// A library that is unloaded must not leave a destructor behind that points
// into it. Texts of threads that still live then are lost: a few bytes.
__attribute__((destructor)) static void delete_key(void)
{
    if (key_status == 0)
        pthread_key_delete(key);
    key_status = -1;
}

static char *own_story(void)
{
    if (story)
        return story;
    pthread_once(&key_once, create_key);
    if (key_status != 0)
        return NULL;

    char *text = malloc(STORY_BYTES);
    if (!text)
        return NULL;
    text[0] = '\0';
    if (pthread_setspecific(key, text) != 0) {
        free(text);
        return NULL;
    }
    story = text;
    return story;
}

// Cuts a text that did not fit so that no half UTF-8 character remains.
static void trim_partial_character(char *text, size_t length)
{
    size_t at = length;

    while (at > 0 && length - at < 4 && ((unsigned char)text[at - 1] & 0xc0) == 0x80)
        at--;
    if (at > 0 && (unsigned char)text[at - 1] >= 0xc0)
        text[at - 1] = '\0';
}

// Written to a text of its own first: an argument may be the story itself.
__attribute__((format(printf, 2, 0))) static void tell(bool in_front, const char *format,
                                                       va_list arguments)
{
    const int saved_errno = errno;
    char *text = own_story();
    char told[STORY_BYTES];

    if (text) {
        int length = vsnprintf(told, sizeof(told), format, arguments);
        size_t used = length < 0 ? 0 : (size_t)length;
        if (length < 0)
            told[0] = '\0';
        if (in_front && text[0] && used < sizeof(told))
            used += (size_t)snprintf(told + used, sizeof(told) - used, ": %s", text);
        if (used >= sizeof(told))
            trim_partial_character(told, sizeof(told) - 1);
        memcpy(text, told, strlen(told) + 1);
    }
    errno = saved_errno;
}

int fail(int code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    tell(false, format, arguments);
    va_end(arguments);
    return code;
}

int fail_because(int code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    tell(true, format, arguments);
    va_end(arguments);
    return code;
}

const char *fail_text(void)
{
    return story ? story : "";
}

void fail_clear(void)
{
    if (story)
        story[0] = '\0';
}
