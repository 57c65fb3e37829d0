// SPDX-License-Identifier: Apache-2.0
// One text, or numbers, out of JSON.
#include "load/file/json_value.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/utf8.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

// The code unit of the four hex digits at `json`, or -1.
static int32_t read_unit(const char *json)
{
    int32_t unit = 0;

    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(json[i]);

        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

// Decodes the \u escape at `json` (behind the u) and says how long it is;
// halves of a pair that stand alone become U+FFFD.
static size_t read_unicode(const char *json, uint32_t *ret_code)
{
    int32_t high = read_unit(json);
    int32_t low;

    *ret_code = high < 0 || (high & 0xf800) == 0xd800 ? 0xfffd : (uint32_t)high;
    if (high < 0)
        return 0;
    if ((high & 0xfc00) != 0xd800 || json[4] != '\\' || json[5] != 'u')
        return 4;
    low = read_unit(json + 6);
    if (low < 0 || (low & 0xfc00) != 0xdc00)
        return 4;
    *ret_code = 0x10000 + ((uint32_t)(high & 0x3ff) << 10) + (uint32_t)(low & 0x3ff);
    return 10;
}

// Decodes the escape at `json` (behind the backslash); returns its length.
static size_t read_escape(const char *json, uint8_t out[4], size_t *ret_bytes)
{
    static const char letters[] = "bfnrt\"\\/";
    static const char meanings[] = "\b\f\n\r\t\"\\/";
    const char *letter = *json ? strchr(letters, *json) : NULL;
    uint32_t code;
    size_t used;

    if (*json == 'u') {
        used = 1 + read_unicode(json + 1, &code);
        *ret_bytes = utf8_put((char *)out, code);
        return used;
    }
    out[0] = letter ? (uint8_t)meanings[letter - letters] : '\\';
    *ret_bytes = 1;
    return letter ? 1 : 0;
}

int json_value_text(const char *json, struct buffer *out)
{
    size_t length = strlen(json);
    uint8_t *to = buffer_reserve(out, 2 * length + 8);
    size_t count = 0;

    if (!to)
        return fail(GAIT_ERR_MEMORY, "no memory for a text of %zu bytes", length);
    if (length < 2 || json[0] != '"' || json[length - 1] != '"') {
        memcpy(to, json, length + 1);
        out->used += length + 1;
        return 0;
    }
    for (const char *at = json + 1; at < json + length - 1;) {
        size_t bytes = 1;

        if (*at == '\\')
            at += 1 + read_escape(at + 1, to + count, &bytes);
        else
            to[count] = (uint8_t)*at++;
        count += bytes;
    }
    to[count] = 0;
    out->used += count + 1;
    return 0;
}

int64_t json_value_integer(const char *json, int64_t otherwise)
{
    char *end;
    long long value;

    if (!json)
        return otherwise;
    json += *json == '"';
    errno = 0;
    value = strtoll(json, &end, 10);
    if (errno || end == json || (*end && *end != '"'))
        return otherwise;
    return value;
}

double json_value_member(const char *json, const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = json ? strstr(json, quoted) : NULL;
    const double value = at ? strtod(at + strlen(quoted), NULL) : 0;
    return isfinite(value) && value > 0 ? value : 0;
}
