// SPDX-License-Identifier: Apache-2.0
// A function may be named process, or thread, as well.
#include "load/stack_label.h"

#include <ctype.h>
#include <stdlib.h>

#define PROCESS "process "
#define THREAD "thread ("

static size_t digits_at(struct slice text, size_t from)
{
    size_t at = from;
    while (at < text.count && isxdigit(text.bytes[at]))
        at++;
    return at - from;
}

// process 12:"python train.py"
static bool is_process(struct slice text)
{
    const size_t name = sizeof PROCESS - 1;
    const size_t at = slice_starts_with(text, PROCESS) ? name + digits_at(text, name) : 0;
    return at > name && at + 1 < text.count && text.bytes[at] == ':' && text.bytes[at + 1] == '"';
}

// thread (0x7F12); thread (12): name
static bool is_thread(struct slice text)
{
    size_t from = sizeof THREAD - 1;
    if (!slice_starts_with(text, THREAD))
        return false;
    if (from + 1 < text.count && text.bytes[from] == '0' && (text.bytes[from + 1] | 32) == 'x')
        from += 2;
    const size_t at = from + digits_at(text, from);
    return at > from && at < text.count && text.bytes[at] == ')' &&
           (at + 1 == text.count || text.bytes[at + 1] == ':');
}

enum frame_kind stack_label_kind(struct slice text)
{
    if (is_process(text))
        return FRAME_PROCESS;
    return is_thread(text) ? FRAME_THREAD : FRAME_NONE;
}

int64_t stack_label_pid(const char *text)
{
    return is_process(slice_of(text)) ? strtoll(text + sizeof PROCESS - 1, NULL, 10) : -1;
}
