// SPDX-License-Identifier: Apache-2.0
// Words may come from any file: what is not understood is no argument that
// anything follows from.
#include "analyse/flops/shape_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

// Behind the word that begins there; a list of tensors has blanks inside.
static const char *end_of_word(const char *word)
{
    const char close = *word == '(' ? ')' : ' ';
    const char *end = strchr(word, close);
    if (!end)
        return word + strlen(word);
    return close == ')' ? end + 1 : end;
}

// "1,2,3" up to `close`; false where it is something else, or too long.
static bool read_numbers(const char *text, char close, struct shape_arg *arg)
{
    arg->count = 0;
    if (*text == close)
        return true;
    for (;;) {
        char *end;
        errno = 0;
        const long long number = strtoll(text, &end, 10);
        if (end == text || errno || arg->count == SHAPE_NUMBERS_MAX)
            return false;
        arg->numbers[arg->count++] = number;
        if (*end == close)
            return true;
        if (*end != ',')
            return false;
        text = end + 1;
    }
}

static void read_tensor(const char *word, const char *end, struct shape_arg *arg)
{
    const char *open = memchr(word, '[', (size_t)(end - word));
    if (!open)
        return;
    arg->is_told = read_numbers(open + 1, ']', arg);
    arg->kind = arg->is_told ? SHAPE_TENSOR : SHAPE_HIDDEN;
}

static void read_word(const char *word, const char *end, struct shape_arg *arg)
{
    *arg = (struct shape_arg){.kind = SHAPE_NONE};
    if (*word == '(') {
        arg->kind = SHAPE_TENSORS;
    } else if (*word == '?') {
        arg->kind = SHAPE_HIDDEN;
    } else if (*word == 's') {
        arg->kind = SHAPE_NUMBER;
        arg->is_told = end > word + 1 && read_numbers(word + 1, *end, arg);
    } else if (*word == 'S') {
        arg->kind = SHAPE_NUMBERS;
        arg->is_told = word[1] == '[' && read_numbers(word + 2, ']', arg);
    } else if (*word != '-') {
        read_tensor(word, end, arg);
    }
}

bool shape_text_next(const char **text, struct shape_arg *ret_arg)
{
    const char *word = *text;
    while (*word == ' ')
        word++;
    if (!*word)
        return false;
    const char *end = end_of_word(word);
    read_word(word, end, ret_arg);
    *text = end;
    return true;
}

static int put_sizes(const struct shape_arg *arg, struct buffer *out)
{
    const uint32_t count = arg->kind == SHAPE_TENSOR ? arg->count : 0;
    int status = buffer_printf(out, "[");
    for (uint32_t i = 0; !status && i < count; i++)
        status = buffer_printf(out, i ? ", %" PRId64 : "%" PRId64, arg->numbers[i]);
    return status ? status : buffer_printf(out, "]");
}

int shape_text_sizes(const char *text, struct buffer *out)
{
    struct shape_arg arg;
    out->used = 0;
    int status = buffer_printf(out, "[");
    for (bool is_first = true; !status && shape_text_next(&text, &arg); is_first = false) {
        status = is_first ? GAIT_OK : buffer_printf(out, ", ");
        if (!status)
            status = put_sizes(&arg, out);
    }
    return status ? status : buffer_printf(out, "]");
}
