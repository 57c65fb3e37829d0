// SPDX-License-Identifier: Apache-2.0
// What is JSON and what is not, test_json_writer.c asks; here what it says.
#include "base/json_reader.h"

#include "support/tap.h"

static bool is_slice(struct slice got, const char *want)
{
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)got.count, (const char *)got.bytes);
    return is_str(text, want);
}

TEST("json_reader: tokens come in order, with their keys and depths")
{
    static const struct {
        enum json_kind kind;
        size_t depth;
        const char *key, *text;
    } want[] = {
        {JSON_OBJECT, 0, "", ""},        {JSON_NUMBER, 1, "\"a\"", "-1.5e3"},
        {JSON_ARRAY, 1, "\"b\"", ""},    {JSON_TRUE, 2, "", "true"},
        {JSON_OBJECT, 2, "", ""},        {JSON_CLOSE, 2, "", ""},
        {JSON_TEXT, 2, "", "\"]\\\"\""}, {JSON_CLOSE, 1, "", ""},
        {JSON_NULL, 1, "\"\"", "null"},  {JSON_FALSE, 1, "\"c\"", "false"},
        {JSON_CLOSE, 0, "", ""},         {JSON_END, 0, "", ""},
        {JSON_END, 0, "", ""},
    };
    struct json_reader reader = json_reader_of(
        slice_of(" {\"a\" : -1.5e3,\"b\":[true,{ },\"]\\\"\"] , \"\":null,\"c\":false}\n"));
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        struct json_token token;
        is_int(json_next(&reader, &token), want[i].kind);
        is_u64(token.depth, want[i].depth);
        is_slice(token.key, want[i].key);
        is_slice(token.text, want[i].text);
    }
}

TEST("json_reader: behind what is broken nothing follows")
{
    struct json_reader reader = json_reader_of(slice_of("[1 2, 3]"));
    struct json_token token;
    is_int(json_next(&reader, &token), JSON_ARRAY);
    is_int(json_next(&reader, &token), JSON_NUMBER);
    for (int i = 0; i < 3; i++)
        is_int(json_next(&reader, &token), JSON_BROKEN);
}

TEST("json_reader: a member is one of the object itself, not a text or an inner one")
{
    static const char json[] =
        "{\"n\": {\"shapes\": 1}, \"t\": \"\\\"shapes\\\": 2\", \"shapes\" : 3, \"shapes\": 4}";
    struct json_token token;
    double number = 0;
    ok(json_member_real(json, "shapes", &number));
    ok(number == 3);
    is_int(json_member(json, "n", &token), JSON_OBJECT);
    is_int(json_member(json, "shape", &token), JSON_BROKEN);
    is_int(json_member(json, "", &token), JSON_BROKEN);
    is_int(json_member("[1]", "n", &token), JSON_BROKEN);
    is_int(json_member(NULL, "n", &token), JSON_BROKEN);
    ok(!json_member_real("{\"n\": \"3\"}", "n", &number));
    ok(!json_member_real("{\"n\": 1e999}", "n", &number));
    ok(json_member_count("{\"n\": -3}", "n") == 0);
    ok(json_member_count("{\"n\": 2.5", "n") == 2.5); // a document that was cut behind it
}

TEST("json_reader: single values")
{
    ok(json_is_text("\"cut\"", "cut"));
    ok(json_is_text("\"\"", ""));
    ok(!json_is_text("cut", "cut"));
    ok(!json_is_text("\"cut\" ", "cut"));
    ok(!json_is_text("\"cute\"", "cut"));
    ok(!json_is_text(NULL, ""));
    ok(json_is_true(" true"));
    ok(!json_is_true("\"true\""));
    ok(!json_is_true(NULL));
    is_int(json_integer("-12", 7), -12);
    is_int(json_integer("\"12\"", 7), 12);
    is_int(json_integer("12x", 7), 7);
    is_int(json_integer("99999999999999999999", 7), 7);
    is_int(json_integer(NULL, 7), 7);
}

TEST("json_reader: escapes become the text they stand for")
{
    static const char *const cases[][2] = {
        {"\"a\\n\\\"\\u00e9\\ud83d\\ude00\"", "a\n\"\xc3\xa9\xf0\x9f\x98\x80"},
        {"\"\\ud83d!\"", "\xef\xbf\xbd!"}, // half a pair
        {"\"\\x\\u12\"", "\\x\xef\xbf\xbd\x31\x32"},
        {"plain \\n", "plain \\n"},
        {"\"", "\""},
    };
    struct buffer text;
    buffer_init(&text, 1000);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        text.used = 0;
        is_int(json_decode(cases[i][0], &text), 0);
        is_str((const char *)text.bytes, cases[i][1]);
    }
    buffer_finish(&text);
}
