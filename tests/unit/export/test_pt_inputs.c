// SPDX-License-Identifier: Apache-2.0
// The inputs of ops in torch's words, for records of every age and for nonsense.
#define _GNU_SOURCE
#include "export/pt/pt_inputs.h"

#include <string.h>

#include "base/json_reader.h"
#include "support/tap.h"

static char text[4096];

static const char *inputs_of(const char *shapes, bool has_strides)
{
    struct buffer out;
    buffer_init(&out, sizeof(text));
    ok(pt_inputs_append(&out, shapes, strlen(shapes), has_strides) == 0);
    ok(out.used < sizeof(text));
    memcpy(text, out.bytes, out.used);
    text[out.used] = 0;
    buffer_finish(&out);
    return text;
}

static bool has(const char *part)
{
    return strstr(text, part) != NULL;
}

TEST("tensors")
{
    inputs_of("f32[8,16]{1,8} i64[] - bf16[2]", true);
    ok(has("\"Input type\": [\"float\", \"long int\", \"\", \"c10::BFloat16\"]"));
    ok(has("\"Input Strides\": [[1, 8], [], [], [1]]"));
    ok(has("\"Input Dims\": [[8, 16], [], [], [2]]"));
    ok(has("\"Concrete Inputs\": [\"\", \"\", \"\", \"\"]"));
}

TEST("strides follow from sizes where they are known")
{
    inputs_of("f32[2,3,4] f64[0,5]", true);
    ok(has("\"Input Strides\": [[12, 4, 1], [5, 1]]"));
    inputs_of("f32[2,3,4]", false);
    ok(!has("Strides"));
}

TEST("lists and numbers")
{
    inputs_of("(f32[8] f32[4,2]) s3 S[1,-1] sTrue", true);
    ok(has("\"Input type\": [\"TensorList\", \"Scalar\", \"ScalarList\", \"Scalar\"]"));
    ok(has("\"Input Dims\": [[[8], [4, 2]], [], [], []]"));
    ok(has("\"Input Strides\": [[[1], [2, 1]], [], [], []]"));
    ok(!has("Concrete")); // 1 or True, the record does not say
    inputs_of("(f32[8] ...) s", false);
    ok(has("\"Input Dims\": [[[8]], []]"));
}

TEST("nonsense is json all the same")
{
    static const char *const texts[] = {"",
                                        "f32[",
                                        "]",
                                        "()",
                                        "(((",
                                        "\"\\[1]",
                                        "f32[a,b]{x",
                                        "s\"\n",
                                        "\xff\xfe[1]",
                                        "f32[8,16...",
                                        "S[",
                                        "( ) ) (",
                                        "f32[1,,2]",
                                        "f32[99999999999999999999999]"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char object[sizeof(text) + 2];
        snprintf(object, sizeof(object), "{%s}", inputs_of(texts[i], i % 2));
        ok(json_is_valid(slice_of(object)));
    }
}

TEST("one address may hold two texts")
{
    struct pt_inputs inputs;
    struct slice first, second;
    char shapes[] = "f32[1]";
    pt_inputs_init(&inputs);
    ok(pt_inputs_get(&inputs, shapes, strlen(shapes), &first) == 0);
    shapes[4] = '2';
    ok(pt_inputs_get(&inputs, shapes, strlen(shapes), &second) == 0);
    ok(memmem(second.bytes, second.count, "[[2]]", 5) != NULL);
    shapes[4] = '1';
    ok(pt_inputs_get(&inputs, shapes, strlen(shapes), &second) == 0);
    ok(memmem(second.bytes, second.count, "[[1]]", 5) != NULL);
    pt_inputs_finish(&inputs);
}
