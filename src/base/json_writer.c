// SPDX-License-Identifier: Apache-2.0
// JSON by hand, with the stream's unlocked calls: an export writes millions of
// small items, and a lock around each costs more than the item.
#define _GNU_SOURCE
#include "base/json_writer.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/json_reader.h"
#include "base/utf8.h"

static void put(FILE *out, const char *bytes, size_t count)
{
    if (count)
        fwrite_unlocked(bytes, 1, count, out);
}

static void start_line(struct json_writer *json)
{
    putc_unlocked('\n', json->out);
    for (unsigned i = 0; i < json->depth * json->indent; i++)
        putc_unlocked(' ', json->out);
}

// Whatever must stand between the item before and the next one.
static void separate(struct json_writer *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (!json->depth)
        return;
    uint32_t bit = 1u << (json->depth - 1);
    if (json->has_items & bit)
        putc_unlocked(',', json->out);
    if (json->depth <= json->line_depth)
        start_line(json);
    else if (json->indent && (json->has_items & bit))
        putc_unlocked(' ', json->out);
    json->has_items |= bit;
}

static void open_container(struct json_writer *json, bool is_array)
{
    assert(json->depth < JSON_MAX_DEPTH);
    separate(json);
    putc_unlocked(is_array ? '[' : '{', json->out);
    uint32_t bit = 1u << json->depth++;
    json->has_items &= ~bit;
    json->is_array = is_array ? json->is_array | bit : json->is_array & ~bit;
}

void json_object(struct json_writer *json)
{
    open_container(json, false);
}

void json_array(struct json_writer *json)
{
    open_container(json, true);
}

void json_close(struct json_writer *json)
{
    assert(json->depth > 0 && !json->after_key);
    bool on_lines = json->depth <= json->line_depth;
    uint32_t bit = 1u << --json->depth;
    if ((json->has_items & bit) && on_lines)
        start_line(json);
    putc_unlocked(json->is_array & bit ? ']' : '}', json->out);
    if (!json->depth && json->line_depth)
        putc_unlocked('\n', json->out);
}

static void put_escaped(FILE *out, uint8_t byte)
{
    static const char short_forms[] = "\b\t\n\f\r\"\\";
    static const char letters[] = "btnfr\"\\";
    const char *form = byte ? strchr(short_forms, byte) : NULL;
    if (form)
        fprintf(out, "\\%c", letters[form - short_forms]);
    else
        fprintf(out, "\\u%04x", byte);
}

static bool needs_escape(uint8_t byte)
{
    return byte < 0x20 || byte == 0x7F || byte == '"' || byte == '\\';
}

// U+0080 to U+009F move a terminal's cursor as escapes do: \xc2 and a byte that is
// the character's number.
static bool is_wide_control(const char *valid, size_t at)
{
    return (uint8_t)valid[at] == 0xC2 && (uint8_t)valid[at + 1] < 0xA0;
}

static void put_valid(FILE *out, const char *text, size_t count)
{
    size_t from = 0;
    for (size_t at = 0; at < count; at++) {
        const bool is_wide = is_wide_control(text, at);
        if (!is_wide && !needs_escape((uint8_t)text[at]))
            continue;
        put(out, text + from, at - from);
        at += is_wide;
        put_escaped(out, (uint8_t)text[at]);
        from = at + 1;
    }
    put(out, text + from, count - from);
}

static void put_quoted(FILE *out, struct slice text)
{
    const char *at = (const char *)text.bytes;
    size_t left = text.count;
    putc_unlocked('"', out);
    while (left) {
        size_t valid = utf8_valid_prefix(at, left);
        put_valid(out, at, valid);
        if (valid == left)
            break;
        put(out, "\xEF\xBF\xBD", 3);
        valid += utf8_broken_prefix(at + valid, left - valid);
        at += valid;
        left -= valid;
    }
    putc_unlocked('"', out);
}

void json_key(struct json_writer *json, const char *key)
{
    assert(json->depth > 0 && !json->after_key);
    separate(json);
    put_quoted(json->out, slice_of(key));
    putc_unlocked(':', json->out);
    if (json->indent)
        putc_unlocked(' ', json->out);
    json->after_key = true;
}

void json_slice(struct json_writer *json, struct slice text)
{
    separate(json);
    put_quoted(json->out, text);
}

void json_text(struct json_writer *json, const char *text)
{
    if (text)
        json_slice(json, slice_of(text));
    else
        json_null(json);
}

static void put_digits(FILE *out, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    put(out, digits + at, sizeof digits - at);
}

void json_uint(struct json_writer *json, uint64_t value)
{
    separate(json);
    put_digits(json->out, value);
}

// |value| without the overflow that INT64_MIN would bring.
static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

void json_int(struct json_writer *json, int64_t value)
{
    separate(json);
    if (value < 0)
        putc_unlocked('-', json->out);
    put_digits(json->out, magnitude(value));
}

void json_bool(struct json_writer *json, bool value)
{
    separate(json);
    fputs_unlocked(value ? "true" : "false", json->out);
}

void json_null(struct json_writer *json)
{
    separate(json);
    fputs_unlocked("null", json->out);
}

void json_put_text(struct json_writer *json, const char *key, const char *text)
{
    json_key(json, key);
    json_text(json, text);
}

void json_put_int(struct json_writer *json, const char *key, int64_t value)
{
    json_key(json, key);
    json_int(json, value);
}

void json_put_uint(struct json_writer *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_uint(json, value);
}

void json_put_bool(struct json_writer *json, const char *key, bool value)
{
    json_key(json, key);
    json_bool(json, value);
}

void json_real(struct json_writer *json, double value)
{
    if (!isfinite(value)) {
        json_null(json);
        return;
    }
    separate(json);
    char digits[40];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    // in a foreign process the locale may write another sign than the point
    for (char *at = digits; *at; at++)
        if (!strchr("0123456789+-e", *at))
            *at = '.';
    fputs_unlocked(digits, json->out);
}

void json_embed(struct json_writer *json, struct slice text)
{
    if (!json_is_valid(text)) {
        json_slice(json, text);
        return;
    }
    separate(json);
    put(json->out, (const char *)text.bytes, text.count);
}
