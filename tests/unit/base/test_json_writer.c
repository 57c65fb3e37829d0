// SPDX-License-Identifier: Apache-2.0
// JSON out: right for any bytes and any number. What is wanted stands here as
// RFC 8259 has it; tests/cli compares whole answers with Python's parser.
#define _GNU_SOURCE
#include <math.h>

#include "base/json_reader.h"
#include "base/json_writer.h"
#include "support/tap.h"

struct sink {
    char *text;
    size_t bytes;
    struct json_writer json;
};

static void sink_open(struct sink *sink, unsigned line_depth)
{
    *sink = (struct sink){.text = NULL};
    sink->json.out = open_memstream(&sink->text, &sink->bytes);
    sink->json.line_depth = line_depth;
    sink->json.indent = line_depth ? 2 : 0;
}

static bool sink_holds(struct sink *sink, const char *want)
{
    fclose(sink->json.out);
    bool same = is_str(sink->text, want);
    free(sink->text);
    return same;
}

TEST("json: containers nest, commas stand between items only")
{
    struct sink sink;
    sink_open(&sink, 0);
    struct json_writer *json = &sink.json;
    json_object(json);
    json_key(json, "a");
    json_array(json);
    json_int(json, 1);
    json_array(json);
    json_close(json);
    json_object(json);
    json_key(json, "x");
    json_bool(json, true);
    json_close(json);
    json_null(json);
    json_close(json);
    json_key(json, "b");
    json_text(json, NULL);
    json_close(json);
    sink_holds(&sink, "{\"a\":[1,[],{\"x\":true},null],\"b\":null}");
}

TEST("json: items down to the line depth stand on lines of their own")
{
    struct sink sink;
    sink_open(&sink, 1);
    json_object(&sink.json);
    json_key(&sink.json, "a");
    json_array(&sink.json);
    json_int(&sink.json, 1);
    json_int(&sink.json, 2);
    json_close(&sink.json);
    json_key(&sink.json, "b");
    json_object(&sink.json);
    json_close(&sink.json);
    json_close(&sink.json);
    sink_holds(&sink, "{\n  \"a\": [1, 2],\n  \"b\": {}\n}\n");
}

TEST("json: numbers keep every digit")
{
    struct sink sink;
    sink_open(&sink, 0);
    json_array(&sink.json);
    json_int(&sink.json, INT64_MIN);
    json_uint(&sink.json, UINT64_MAX);
    json_uint(&sink.json, 0);
    json_close(&sink.json);
    sink_holds(&sink, "[-9223372036854775808,18446744073709551615,0]");
}

TEST("json: a real comes back as it was, and what JSON cannot say is null")
{
    static const double reals[] = {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0, 1e22, 123};
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        struct sink sink;
        sink_open(&sink, 0);
        json_real(&sink.json, reals[i]);
        fclose(sink.json.out);
        ok(strtod(sink.text, NULL) == reals[i]);
        ok(json_is_valid(slice_of(sink.text)));
        free(sink.text);
    }
    struct sink sink;
    sink_open(&sink, 0);
    json_array(&sink.json);
    json_real(&sink.json, (double)NAN);
    json_real(&sink.json, (double)INFINITY);
    json_real(&sink.json, -(double)INFINITY);
    json_real(&sink.json, 0.5);
    json_close(&sink.json);
    sink_holds(&sink, "[null,null,null,0.5]");
}

TEST("json: quotes, controls and bytes that are no UTF-8 come out as text")
{
    struct sink sink;
    static const char hostile[] =
        "\"\\/\b\f\n\r\t\x01\x1f\x7f caf\xc3\xa9 \xff\xed\xa0\x80 \xf0\x9f";
    sink_open(&sink, 0);
    json_slice(&sink.json, (struct slice){(const uint8_t *)hostile, sizeof hostile - 1});
    sink_holds(&sink, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f caf\xc3\xa9 "
                      "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\"");
    sink_open(&sink, 0);
    json_slice(&sink.json, (struct slice){(const uint8_t *)"a\0b", 3});
    sink_holds(&sink, "\"a\\u0000b\"");
}

TEST("json: foreign JSON is copied when it is valid, else quoted")
{
    struct sink sink;
    sink_open(&sink, 0);
    json_array(&sink.json);
    json_embed(&sink.json, slice_of("{\"a\": [1, 2]}"));
    json_embed(&sink.json, slice_of("{\"a\": [1, 2}"));
    json_embed(&sink.json, slice_of(""));
    json_close(&sink.json);
    sink_holds(&sink, "[{\"a\": [1, 2]},\"{\\\"a\\\": [1, 2}\",\"\"]");
}

TEST("json: the check takes what the grammar takes")
{
    static const char *const good[] = {
        "0",    "-0.5e+10", "\"\\u00e9\\\"\"",     "[]", "{}", " [1 ,2] ", "null",
        "true", "\"\"",     "{\"a\":{\"b\":[{}]}}"};
    static const char *const bad[] = {
        "",        "01",    "1.",     ".5",      "+1",          "nul",   "[1,]",       "[,1]",
        "{\"a\"}", "{a:1}", "\"\t\"", "\"\\x\"", "\"\\u12g4\"", "[1] 2", "{\"a\":1,}", "NaN",
        "[",       "\"",    "1e",     "'a'",     "\"\xff\"",    "[1}",   "]",          "{\"a\":}"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (!ok(json_is_valid(slice_of(good[i]))))
            printf("# %s\n", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (!ok(!json_is_valid(slice_of(bad[i]))))
            printf("# %s\n", bad[i]);
}

TEST("json: the check bears any depth, and refuses what is too deep")
{
    enum { DEEP = 100000 };
    static char text[2 * DEEP];
    memset(text, '[', DEEP);
    memset(text + DEEP, ']', DEEP);
    ok(!json_is_valid((struct slice){(const uint8_t *)text, sizeof text}));
    const size_t legal = JSON_MOST_DEPTH;
    ok(json_is_valid((struct slice){(const uint8_t *)text + DEEP - legal, 2 * legal}));
}
