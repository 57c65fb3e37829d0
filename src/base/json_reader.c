// SPDX-License-Identifier: Apache-2.0
// The open containers are an array of closing brackets: hostile text cannot exhaust the stack.
#include "base/json_reader.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/utf8.h"

// --- tokens -------------------------------------------------------------------------

static void skip(struct slice *text, size_t count)
{
    text->bytes = count ? text->bytes + count : text->bytes; // which may be NULL
    text->count -= count;
}

static void skip_blanks(struct slice *text)
{
    while (text->count && memchr(" \t\n\r", text->bytes[0], 4))
        skip(text, 1);
}

static bool take_byte(struct slice *text, char byte)
{
    if (!text->count || text->bytes[0] != (uint8_t)byte)
        return false;
    skip(text, 1);
    return true;
}

static bool take_word(struct slice *text, const char *word)
{
    if (!slice_starts_with(*text, word))
        return false;
    skip(text, strlen(word));
    return true;
}

static bool take_digits(struct slice *text)
{
    size_t count = 0;
    while (count < text->count && text->bytes[count] >= '0' && text->bytes[count] <= '9')
        count++;
    skip(text, count);
    return count > 0;
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

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// What follows a backslash.
static bool take_escape(struct slice *text)
{
    const uint8_t kind = text->count ? text->bytes[0] : 0;
    const size_t bytes = kind == 'u' ? 5 : 1;
    if (!kind || !memchr("\"\\/bfnrtu", kind, 9) || text->count < bytes)
        return false;
    for (size_t i = 1; i < bytes; i++)
        if (hex_digit(text->bytes[i]) < 0)
            return false;
    skip(text, bytes);
    return true;
}

static bool take_string(struct slice *text)
{
    if (!take_byte(text, '"'))
        return false;
    while (text->count) {
        const uint8_t byte = text->bytes[0];
        if (byte < 0x20)
            return false;
        skip(text, 1);
        if (byte == '"')
            return true;
        if (byte == '\\' && !take_escape(text))
            return false;
    }
    return false;
}

static enum json_kind take_scalar(struct slice *text)
{
    switch (text->count ? text->bytes[0] : 0) {
    case '"':
        return take_string(text) ? JSON_TEXT : JSON_BROKEN;
    case 't':
        return take_word(text, "true") ? JSON_TRUE : JSON_BROKEN;
    case 'f':
        return take_word(text, "false") ? JSON_FALSE : JSON_BROKEN;
    case 'n':
        return take_word(text, "null") ? JSON_NULL : JSON_BROKEN;
    default:
        return take_number(text) ? JSON_NUMBER : JSON_BROKEN;
    }
}

static struct slice since(const uint8_t *start, struct slice left)
{
    return (struct slice){start, (size_t)(left.bytes - start)};
}

// `"key" :`
static bool take_key(struct slice *text, struct slice *ret_key)
{
    const uint8_t *start = text->bytes;
    if (!take_string(text))
        return false;
    *ret_key = since(start, *text);
    skip_blanks(text);
    return take_byte(text, ':');
}

static enum json_kind open_container(struct json_reader *reader, char close)
{
    if (reader->depth == JSON_MOST_DEPTH)
        return JSON_BROKEN;
    reader->close[reader->depth++] = close;
    reader->has_value = false;
    return close == '}' ? JSON_OBJECT : JSON_ARRAY;
}

static enum json_kind take_value(struct json_reader *reader, struct json_token *token)
{
    struct slice *left = &reader->left;
    if (reader->depth && reader->close[reader->depth - 1] == '}' && !take_key(left, &token->key))
        return JSON_BROKEN;
    skip_blanks(left);
    if (take_byte(left, '{'))
        return open_container(reader, '}');
    if (take_byte(left, '['))
        return open_container(reader, ']');
    const uint8_t *start = left->bytes;
    const enum json_kind kind = take_scalar(left);
    token->text = since(start, *left);
    reader->has_value = true;
    return kind;
}

enum json_kind json_next(struct json_reader *reader, struct json_token *ret_token)
{
    struct slice *left = &reader->left;
    *ret_token = (struct json_token){.depth = reader->depth};
    skip_blanks(left);
    if (!reader->depth && reader->has_value && !left->count)
        return JSON_END;
    if (reader->depth && take_byte(left, reader->close[reader->depth - 1])) {
        ret_token->depth = --reader->depth;
        reader->has_value = true;
        return JSON_CLOSE;
    }
    enum json_kind kind = JSON_BROKEN;
    if (!reader->has_value || (reader->depth && take_byte(left, ','))) {
        skip_blanks(left);
        kind = take_value(reader, ret_token);
    }
    if (kind == JSON_BROKEN)
        *reader = (struct json_reader){.depth = 0};
    return kind;
}

bool json_is_valid(struct slice text)
{
    struct json_reader reader = json_reader_of(text);
    struct json_token token;
    enum json_kind kind;
    if (utf8_valid_prefix((const char *)text.bytes, text.count) != text.count)
        return false;
    do
        kind = json_next(&reader, &token);
    while (kind > JSON_END);
    return kind == JSON_END;
}

// --- members of metadata ------------------------------------------------------------

static bool is_quoted(struct slice text, const char *word)
{
    const size_t count = strlen(word);
    return text.count == count + 2 && !memcmp(text.bytes + 1, word, count);
}

enum json_kind json_member(const char *json, const char *key, struct json_token *ret_token)
{
    struct json_reader reader = json_reader_of(slice_of(json));
    enum json_kind kind = json_next(&reader, ret_token);
    if (kind != JSON_OBJECT)
        return JSON_BROKEN;
    while (kind > JSON_END) {
        kind = json_next(&reader, ret_token);
        if (kind > JSON_END && ret_token->depth == 1 && is_quoted(ret_token->key, key))
            return kind;
    }
    return JSON_BROKEN;
}

bool json_member_real(const char *json, const char *key, double *ret_number)
{
    struct json_token token;
    if (json_member(json, key, &token) != JSON_NUMBER)
        return false;
    const double number = strtod((const char *)token.text.bytes, NULL);
    if (!isfinite(number))
        return false;
    *ret_number = number;
    return true;
}

double json_member_count(const char *json, const char *key)
{
    double number;
    return json_member_real(json, key, &number) && number > 0 ? number : 0;
}

// --- single values ------------------------------------------------------------------

bool json_is_text(const char *json, const char *text)
{
    struct slice all = slice_of(json);
    const struct slice whole = all;
    return take_string(&all) && !all.count && is_quoted(whole, text);
}

bool json_is_true(const char *json)
{
    struct json_reader reader = json_reader_of(slice_of(json));
    struct json_token token;
    return json_next(&reader, &token) == JSON_TRUE;
}

int64_t json_integer(const char *json, int64_t otherwise)
{
    char *end;
    if (!json)
        return otherwise;
    json += *json == '"';
    errno = 0;
    const long long value = strtoll(json, &end, 10);
    return errno || end == json || (*end && *end != '"') ? otherwise : value;
}

// The code unit of the four hex digits at `json`, or -1.
static int32_t read_unit(const uint8_t *json)
{
    int32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        const int digit = hex_digit(json[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

// Decodes the \u escape at `json` (behind the u) and says how long it is; halves of a pair
// that stand alone become U+FFFD.
static size_t read_unicode(const uint8_t *json, uint32_t *ret_code)
{
    const int32_t high = read_unit(json);
    *ret_code = high < 0 || (high & 0xf800) == 0xd800 ? 0xfffd : (uint32_t)high;
    if (high < 0)
        return 0;
    if ((high & 0xfc00) != 0xd800 || json[4] != '\\' || json[5] != 'u')
        return 4;
    const int32_t low = read_unit(json + 6);
    if (low < 0 || (low & 0xfc00) != 0xdc00)
        return 4;
    *ret_code = 0x10000 + ((uint32_t)(high & 0x3ff) << 10) + (uint32_t)(low & 0x3ff);
    return 10;
}

// Decodes the escape at `json` (behind the backslash); returns its length.
static size_t read_escape(const uint8_t *json, uint8_t out[4], size_t *ret_bytes)
{
    static const char letters[] = "bfnrt\"\\/", meanings[] = "\b\f\n\r\t\"\\/";
    const char *letter = *json ? strchr(letters, *json) : NULL;
    if (*json == 'u') {
        uint32_t code;
        const size_t used = 1 + read_unicode(json + 1, &code);
        *ret_bytes = utf8_put((char *)out, code);
        return used;
    }
    out[0] = letter ? (uint8_t)meanings[letter - letters] : '\\';
    *ret_bytes = 1;
    return letter ? 1 : 0;
}

int json_decode(const char *json, struct buffer *out)
{
    const size_t length = strlen(json);
    const uint8_t *at = (const uint8_t *)json, *end = at + length;
    uint8_t *to = buffer_reserve(out, 2 * length + 8);
    size_t count = 0;
    if (!to)
        return fail(GAIT_ERR_MEMORY, "no memory for a text of %zu bytes", length);
    const bool is_string = length >= 2 && *at == '"' && end[-1] == '"';
    for (at += is_string, end -= is_string; at < end;) {
        size_t bytes = 1;
        if (is_string && *at == '\\')
            at += 1 + read_escape(at + 1, to + count, &bytes);
        else
            to[count] = *at++;
        count += bytes;
    }
    to[count] = 0;
    out->used += count + 1;
    return GAIT_OK;
}
