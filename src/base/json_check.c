// SPDX-License-Identifier: Apache-2.0
// A checker without recursion, so that hostile text cannot exhaust the stack.
#include "base/json_check.h"

#include "base/utf8.h"

static void skip_blanks(struct slice *text)
{
    while (text->count && memchr(" \t\n\r", text->bytes[0], 4)) {
        text->bytes++;
        text->count--;
    }
}

static bool take_byte(struct slice *text, char byte)
{
    if (!text->count || text->bytes[0] != (uint8_t)byte)
        return false;
    text->bytes++;
    text->count--;
    return true;
}

static bool take_word(struct slice *text, const char *word)
{
    size_t length = strlen(word);
    if (text->count < length || memcmp(text->bytes, word, length) != 0)
        return false;
    text->bytes += length;
    text->count -= length;
    return true;
}

static bool take_digits(struct slice *text)
{
    size_t taken = 0;
    while (text->count && text->bytes[0] >= '0' && text->bytes[0] <= '9') {
        text->bytes++;
        text->count--;
        taken++;
    }
    return taken > 0;
}

static bool take_number(struct slice *text)
{
    take_byte(text, '-');
    if (!take_byte(text, '0') && !take_digits(text))
        return false;
    if (take_byte(text, '.') && !take_digits(text))
        return false;
    if (take_byte(text, 'e') || take_byte(text, 'E')) {
        if (!take_byte(text, '+'))
            take_byte(text, '-');
        return take_digits(text);
    }
    return true;
}

static bool is_hex(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f') ||
           (byte >= 'A' && byte <= 'F');
}

// What follows a backslash.
static bool take_escape(struct slice *text)
{
    if (!text->count)
        return false;
    uint8_t kind = text->bytes[0];
    text->bytes++;
    text->count--;
    if (kind != 'u')
        return memchr("\"\\/bfnrt", kind, 8) != NULL;
    if (text->count < 4)
        return false;
    for (size_t i = 0; i < 4; i++)
        if (!is_hex(text->bytes[i]))
            return false;
    text->bytes += 4;
    text->count -= 4;
    return true;
}

static bool take_string(struct slice *text)
{
    if (!take_byte(text, '"'))
        return false;
    while (text->count) {
        uint8_t byte = text->bytes[0];
        if (byte < 0x20)
            return false;
        text->bytes++;
        text->count--;
        if (byte == '"')
            return true;
        if (byte == '\\' && !take_escape(text))
            return false;
    }
    return false;
}

static bool take_scalar(struct slice *text)
{
    if (!text->count)
        return false;
    switch (text->bytes[0]) {
    case '"':
        return take_string(text);
    case 't':
        return take_word(text, "true");
    case 'f':
        return take_word(text, "false");
    case 'n':
        return take_word(text, "null");
    default:
        return take_number(text);
    }
}

// Where the walk stands: the open containers, innermost last.
struct nest {
    char close[JSON_CHECK_MAX_DEPTH];
    size_t depth;
};

// `"key" :`, when the innermost container is an object.
static bool take_key(struct slice *text, const struct nest *nest)
{
    if (!nest->depth || nest->close[nest->depth - 1] != '}')
        return true;
    skip_blanks(text);
    if (!take_string(text))
        return false;
    skip_blanks(text);
    return take_byte(text, ':');
}

// Goes into containers until a scalar or an empty container has been taken.
static bool take_value_start(struct slice *text, struct nest *nest)
{
    for (;;) {
        skip_blanks(text);
        char close = take_byte(text, '{') ? '}' : take_byte(text, '[') ? ']' : 0;
        if (!close)
            return take_scalar(text);
        skip_blanks(text);
        if (take_byte(text, close))
            return true;
        if (nest->depth == JSON_CHECK_MAX_DEPTH)
            return false;
        nest->close[nest->depth++] = close;
        if (!take_key(text, nest))
            return false;
    }
}

bool json_is_valid(struct slice text)
{
    struct nest nest = {.depth = 0};
    bool is_utf8 = utf8_valid_prefix((const char *)text.bytes, text.count) == text.count;
    if (!is_utf8 || !take_value_start(&text, &nest))
        return false;
    while (nest.depth) {
        skip_blanks(&text);
        if (take_byte(&text, nest.close[nest.depth - 1])) {
            nest.depth--;
            continue;
        }
        if (!take_byte(&text, ',') || !take_key(&text, &nest) || !take_value_start(&text, &nest))
            return false;
    }
    skip_blanks(&text);
    return text.count == 0;
}
