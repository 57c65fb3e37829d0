// SPDX-License-Identifier: Apache-2.0
// UTF-8 by the table of well-formed sequences in the Unicode Standard (3-7):
// no overlong forms, no surrogates, nothing past U+10FFFF.
#include "base/utf8.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"

// What may follow a lead byte: how many bytes, and the range of the first.
struct sequence {
    uint8_t more, low, high;
};

static struct sequence sequence_of(uint8_t lead)
{
    if (lead >= 0xC2 && lead <= 0xDF)
        return (struct sequence){1, 0x80, 0xBF};
    if (lead >= 0xE0 && lead <= 0xEF)
        return (struct sequence){2, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF};
    if (lead >= 0xF0 && lead <= 0xF4)
        return (struct sequence){3, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF};
    return (struct sequence){0, 0, 0};
}

// Length of the sequence at the front, whole or cut off; 0 if not even its
// first byte may stand there. `ret_whole`: it is complete.
static size_t take_sequence(const uint8_t *text, size_t bytes, bool *ret_whole)
{
    *ret_whole = text[0] < 0x80;
    if (*ret_whole)
        return 1;
    struct sequence rule = sequence_of(text[0]);
    size_t length = rule.more ? 1 : 0;
    while (length && length <= rule.more && length < bytes) {
        uint8_t low = length == 1 ? rule.low : 0x80;
        uint8_t high = length == 1 ? rule.high : 0xBF;
        if (text[length] < low || text[length] > high)
            return length;
        length++;
    }
    *ret_whole = length == (size_t)rule.more + 1 && length > 1;
    return length;
}

static size_t ascii_prefix(const uint8_t *text, size_t bytes)
{
    size_t at = 0;
    uint64_t eight;
    for (; at + sizeof(eight) <= bytes; at += sizeof(eight)) {
        memcpy(&eight, text + at, sizeof(eight));
        if (eight & 0x8080808080808080u)
            break;
    }
    while (at < bytes && text[at] < 0x80)
        at++;
    return at;
}

size_t utf8_valid_prefix(const char *text, size_t bytes)
{
    if (!bytes) // `text` may be null
        return 0;
    const uint8_t *at = (const uint8_t *)text, *end = at + bytes;
    bool whole = true;
    while (at < end) {
        at += ascii_prefix(at, (size_t)(end - at));
        if (at == end)
            break;
        size_t length = take_sequence(at, (size_t)(end - at), &whole);
        if (!whole)
            break;
        at += length;
    }
    return (size_t)(at - (const uint8_t *)text);
}

size_t utf8_broken_prefix(const char *text, size_t bytes)
{
    bool whole;
    size_t length = take_sequence((const uint8_t *)text, bytes, &whole);
    return length ? length : 1;
}

static const char replacement[] = "\xEF\xBF\xBD";

size_t utf8_put(char *out, uint32_t code)
{
    static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0}; // by bytes
    const size_t bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = bytes; i-- > 1; code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(leads[bytes] | code);
    return bytes;
}

uint32_t utf8_take(const char **text, size_t *left)
{
    const uint8_t *at = (const uint8_t *)*text;
    bool is_whole;
    const size_t taken = take_sequence(at, *left, &is_whole);
    const size_t bytes = taken ? taken : 1;
    uint32_t code = bytes == 1 ? at[0] : at[0] & (0x7Fu >> bytes);
    for (size_t i = 1; i < bytes; i++)
        code = code << 6 | (at[i] & 0x3F);
    *text += bytes;
    *left -= bytes;
    return is_whole ? code : 0xFFFD;
}

bool utf8_is_unsafe(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } unsafe[] = {{0, 0x1F},        {0x7F, 0x9F},     {0x61C, 0x61C},  {0x200B, 0x200F},
                  {0x2028, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF}};
    for (size_t i = 0; i < sizeof unsafe / sizeof unsafe[0]; i++)
        if (code >= unsafe[i].first && code <= unsafe[i].last)
            return true;
    return false;
}

size_t utf8_show(char out[UTF8_SHOWN_BYTES], uint32_t code)
{
    return (size_t)snprintf(out, UTF8_SHOWN_BYTES, code < 0x100 ? "\\x%02x" : "\\u{%04x}",
                            code & 0x1FFFFF);
}

size_t utf8_repair(char *out, const char *text, size_t bytes)
{
    char *put = out;
    while (bytes) {
        size_t valid = utf8_valid_prefix(text, bytes);
        memcpy(put, text, valid);
        put += valid;
        if (valid == bytes)
            break;
        memcpy(put, replacement, 3);
        put += 3;
        valid += utf8_broken_prefix(text + valid, bytes - valid);
        text += valid;
        bytes -= valid;
    }
    return (size_t)(put - out);
}

static char *put_escape(char *put, uint32_t unit)
{
    static const char hex[] = "0123456789abcdef";
    static const char short_form[32] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    *put++ = '\\';
    if (unit == '"' || unit == '\\' || (unit < 32 && short_form[unit])) {
        *put++ = unit < 32 ? short_form[unit] : (char)unit;
        return put;
    }
    *put++ = 'u';
    for (int shift = 12; shift >= 0; shift -= 4)
        *put++ = hex[unit >> shift & 15];
    return put;
}

static char *put_json_valid(char *put, const char *text, size_t bytes)
{
    while (bytes) {
        const uint8_t byte = (uint8_t)*text;
        if (byte >= ' ' && byte < 0x7F && byte != '"' && byte != '\\') {
            *put++ = (char)byte;
            text++;
            bytes--;
            continue;
        }
        const uint32_t code = utf8_take(&text, &bytes);
        if (code == '"' || code == '\\' || utf8_is_unsafe(code))
            put = put_escape(put, code);
        else
            put += utf8_put(put, code);
    }
    return put;
}

size_t utf8_json(char *out, const char *text, size_t bytes)
{
    char *put = out;
    *put++ = '"';
    while (bytes) {
        size_t valid = utf8_valid_prefix(text, bytes);
        put = put_json_valid(put, text, valid);
        if (valid == bytes)
            break;
        memcpy(put, replacement, 3);
        put += 3;
        valid += utf8_broken_prefix(text + valid, bytes - valid);
        text += valid;
        bytes -= valid;
    }
    *put++ = '"';
    return (size_t)(put - out);
}

int utf8_append_repaired(struct buffer *buffer, const char *text, size_t bytes)
{
    uint8_t *room = NULL;
    if (bytes <= SIZE_MAX / 8)
        room = buffer_reserve(buffer, UTF8_REPAIR_BOUND(bytes) + 1);
    if (!room)
        return fail(GAIT_ERR_MEMORY, "no memory for a text of %zu bytes", bytes);
    buffer->used += utf8_repair((char *)room, text, bytes);
    return GAIT_OK;
}

int utf8_append_json(struct buffer *buffer, const char *text, size_t bytes)
{
    uint8_t *room = NULL;
    if (bytes <= SIZE_MAX / 8)
        room = buffer_reserve(buffer, UTF8_JSON_BOUND(bytes));
    if (!room)
        return fail(GAIT_ERR_MEMORY, "no memory for a text of %zu bytes", bytes);
    buffer->used += utf8_json((char *)room, text, bytes);
    return GAIT_OK;
}
