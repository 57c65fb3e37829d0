// SPDX-License-Identifier: Apache-2.0
#include "base/csv/csv_field.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/fail.h"
#include "base/utf8.h"

// A spreadsheet takes a cell that begins so for a formula, unless it is a number.
static bool is_formula(const char *text, size_t bytes)
{
    static const char first[] = "=+-@\t\r", number[] = "0123456789.eE+-";
    if (!bytes || !memchr(first, text[0], sizeof first - 1))
        return false;
    for (size_t at = 1; at < bytes; at++)
        if (!memchr(number, text[at], sizeof number - 1))
            return true;
    return text[0] != '-' && text[0] != '+';
}

// Most fields: printed as they are.
static bool is_plain(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        const uint8_t byte = (uint8_t)text[i];
        if (byte < ' ' || byte >= 0x7F || byte == ',' || byte == '"')
            return false;
    }
    return !is_formula(text, bytes);
}

static bool is_quoted(const char *text, size_t bytes)
{
    static const char reasons[] = ",\"\r\n";
    for (size_t i = 0; i < bytes; i++)
        if (memchr(reasons, text[i], sizeof reasons - 1))
            return true;
    return false;
}

// Lines and tabs may stand in a field that is quoted.
static uint8_t *put_character(uint8_t *put, const char **text, size_t *left)
{
    const uint32_t code = utf8_take(text, left);
    if (code == '"')
        *put++ = '"';
    if (utf8_is_unsafe(code) && code != '\n' && code != '\r' && code != '\t')
        return put + utf8_show((char *)put, code);
    return put + utf8_put((char *)put, code);
}

int csv_field_append(struct buffer *out, const char *text, size_t bytes)
{
    if (is_plain(text, bytes))
        return buffer_append(out, text, bytes);
    const bool has_quotes = is_quoted(text, bytes);
    const size_t most = bytes < SIZE_MAX / 8 ? 4 * bytes + UTF8_SHOWN_BYTES + 3 : SIZE_MAX;
    uint8_t *put = buffer_reserve(out, most); // a byte becomes four at most: \x1b
    if (!put)
        return fail(GAIT_ERR_MEMORY, "no memory for a field of %zu bytes", bytes);
    if (has_quotes)
        *put++ = '"';
    if (is_formula(text, bytes))
        *put++ = '\'';
    for (size_t left = bytes; left;)
        put = put_character(put, &text, &left);
    if (has_quotes)
        *put++ = '"';
    out->used = (size_t)(put - out->bytes);
    return GAIT_OK;
}
