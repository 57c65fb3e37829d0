// SPDX-License-Identifier: Apache-2.0
// Expected repairs are those of the Unicode Standard's table 3-8 and of Python's
// bytes.decode("utf-8", "replace").
#include "base/utf8.h"

#include "support/tap.h"

static const char *repaired(const char *text, size_t bytes)
{
    static char out[256];
    size_t count = utf8_repair(out, text, bytes);
    out[count] = 0;
    return out;
}

static const char *quoted(const char *text, size_t bytes)
{
    static char out[256];
    size_t count = utf8_json(out, text, bytes);
    out[count] = 0;
    return out;
}

#define SIZED(literal) literal, sizeof(literal) - 1
#define BAD "\xEF\xBF\xBD"

TEST("utf8: valid text stays as it is")
{
    is_str(repaired(SIZED("plain")), "plain");
    is_str(repaired(SIZED("")), "");
    is_str(repaired(SIZED("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 long enough to pass eight")),
           "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 long enough to pass eight");
    is_u64(utf8_valid_prefix(SIZED("ab\xC3\xA9"
                                   "cdefghijkl\xFF")),
           14);
}

TEST("utf8: no bytes may be no text at all")
{
    is_u64(utf8_valid_prefix(NULL, 0), 0); // a null pointer has no place behind it
    is_str(repaired(NULL, 0), "");
}

TEST("utf8: a maximal ill-formed run becomes one replacement")
{
    is_str(repaired(SIZED("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64")),
           "a" BAD BAD BAD "b" BAD "c" BAD BAD "d");
    is_str(repaired(SIZED("\xF0\x9F\x98")), BAD); // cut off at the end
    is_str(repaired(SIZED("\xE2\x82")), BAD);
}

TEST("utf8: overlong forms, surrogates and what is past U+10FFFF are invalid")
{
    is_str(repaired(SIZED("\xC0\xAF")), BAD BAD);
    is_str(repaired(SIZED("\xE0\x80\xAF")), BAD BAD BAD);
    is_str(repaired(SIZED("\xED\xA0\x80")), BAD BAD BAD);
    is_str(repaired(SIZED("\xF4\x90\x80\x80")), BAD BAD BAD BAD);
    is_str(repaired(SIZED("\xF5\xFF\xFE")), BAD BAD BAD);
}

TEST("utf8: JSON strings escape quotes, controls and what turns or hides the writing")
{
    is_str(quoted(SIZED("a\"b\\c/d")), "\"a\\\"b\\\\c/d\"");
    is_str(quoted(SIZED("\b\t\n\f\r\x01\x1F\x7F")), "\"\\b\\t\\n\\f\\r\\u0001\\u001f\\u007f\"");
    is_str(quoted(SIZED("a\0b")), "\"a\\u0000b\"");
    is_str(quoted(SIZED("\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAA")), "\"\\u2028\\u2029\\u202a\"");
    is_str(quoted(SIZED("\xC2\x9B\xD8\x9C\xC3\xA9")), "\"\\u009b\\u061c\xC3\xA9\"");
    is_str(quoted(SIZED("x\xFFy")), "\"x" BAD "y\"");
    is_str(quoted(SIZED("")), "\"\"");
}

TEST("utf8: appending grows the buffer and fails at its limit")
{
    struct buffer small;
    buffer_init(&small, 20);
    is_int(utf8_append_json(&small, "abc", 3), 0);
    is_u64(small.used, 5);
    ok(memcmp(small.bytes, "\"abc\"", 5) == 0);
    is_int(utf8_append_json(&small, "abc", 3), GAIT_ERR_MEMORY);
    is_int(utf8_append_repaired(&small, "\xFF", 1), 0);
    is_u64(small.used, 8);
    is_int(utf8_append_repaired(&small, "x", SIZE_MAX), GAIT_ERR_MEMORY);
    buffer_finish(&small);
}

TEST("utf8: a code point takes the bytes that Unicode gives it")
{
    static const struct {
        uint32_t code;
        const char *bytes;
    } known[] = {
        {'a', "a"},
        {0x7f, "\x7f"},
        {0x80, "\xc2\x80"},
        {0x7ff, "\xdf\xbf"},
        {0x800, "\xe0\xa0\x80"},
        {0x20ac, "\xe2\x82\xac"},
        {0xffff, "\xef\xbf\xbf"},
        {0x10000, "\xf0\x90\x80\x80"},
        {0x10ffff, "\xf4\x8f\xbf\xbf"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        char out[5] = "";
        is_u64(utf8_put(out, known[i].code), strlen(known[i].bytes));
        is_str(out, known[i].bytes);
    }
}
