// SPDX-License-Identifier: Apache-2.0
// Three lists stand side by side: sizes, types, and the values of what is no tensor. What is
// missing or broken makes an argument that nothing follows from.
#include "analyse/flops/kineto_shapes.h"

#include <string.h>
#include <strings.h>

#include "base/json_reader.h"

struct lists {
    struct json_reader sizes, types, values;
};

static bool is_word(struct slice text, const char *word)
{
    return text.count == strlen(word) && !memcmp(text.bytes, word, text.count);
}

static struct json_reader list_of(const struct gait_arg *args, size_t count, const char *key)
{
    struct json_reader reader = json_reader_of(slice_of(""));
    struct json_token token;
    for (size_t i = 0; i < count; i++) {
        const struct gait_arg *arg = &args[i];
        if (!arg->key || arg->kind != GAIT_ARG_JSON || strcasecmp(arg->key, key) != 0)
            continue;
        reader = json_reader_of((struct slice){(const uint8_t *)arg->text, arg->text_bytes});
        if (json_next(&reader, &token) == JSON_ARRAY)
            return reader;
        return json_reader_of(slice_of(""));
    }
    return reader;
}

// The text of the next element, without its quotes; empty where there is none.
static struct slice next_text(struct json_reader *reader)
{
    struct json_token token;
    if (json_next(reader, &token) != JSON_TEXT)
        return slice_of("");
    struct slice text = token.text;
    if (text.count >= 2 && *text.bytes == '"')
        text = (struct slice){text.bytes + 1, text.count - 2};
    return text;
}

// "[2, 2]" without its blanks, as one word.
static int put_value(struct slice text, struct buffer *out)
{
    int status = buffer_append(out, *text.bytes == '[' ? "S" : "s", 1);
    for (size_t i = 0; !status && i < text.count; i++)
        if (text.bytes[i] != ' ')
            status = buffer_append(out, &text.bytes[i], 1);
    return status;
}

static bool is_value(struct slice text)
{
    static const char of_numbers[] = "0123456789-,[] ";
    for (size_t i = 0; i < text.count; i++)
        if (!memchr(of_numbers, text.bytes[i], sizeof of_numbers - 1))
            return false;
    return text.count > 0;
}

static bool is_tensor(struct slice type)
{
    static const char *const others[] = {"",           "Scalar",      "ScalarList",
                                         "TensorList", "GenericList", "OptionalList"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (is_word(type, others[i]))
            return false;
    return true;
}

// The sizes of one argument, whose list is open. A list inside makes it one of tensors.
static int put_sizes(struct json_reader *reader, struct buffer *out)
{
    const size_t before = out->used, depth = reader->depth;
    bool is_nested = false;
    struct json_token token;
    int status = buffer_append(out, "[", 1);
    while (!status && reader->depth >= depth) {
        const enum json_kind kind = json_next(reader, &token);
        if (kind == JSON_BROKEN || kind == JSON_END)
            break;
        is_nested |= kind == JSON_ARRAY;
        if (kind != JSON_NUMBER || is_nested)
            continue;
        if (out->used > before + 1)
            status = buffer_append(out, ",", 1);
        if (!status)
            status = buffer_append(out, token.text.bytes, token.text.count);
    }
    if (status || !is_nested)
        return status ? status : buffer_append(out, "]", 1);
    out->used = before;
    return buffer_append(out, "()", 2);
}

static int put_argument(struct lists *lists, struct buffer *out)
{
    const size_t before = out->used;
    int status = put_sizes(&lists->sizes, out);
    const struct slice type = next_text(&lists->types), value = next_text(&lists->values);
    const bool is_empty = out->used == before + 2 && out->bytes[before] == '[';
    if (status || !is_empty || is_tensor(type))
        return status;
    out->used = before;
    return is_value(value) ? put_value(value, out) : buffer_append(out, "-", 1);
}

int kineto_shapes(const struct gait_arg *args, size_t count, struct buffer *out, bool *ret_is_told)
{
    struct lists lists = {list_of(args, count, "Input Dims"), list_of(args, count, "Input type"),
                          list_of(args, count, "Concrete Inputs")};
    struct json_token token;
    int status = GAIT_OK;
    out->used = 0;
    *ret_is_told = lists.sizes.depth > 0;
    while (!status && lists.sizes.depth && json_next(&lists.sizes, &token) == JSON_ARRAY) {
        if (out->used)
            status = buffer_append(out, " ", 1);
        if (!status)
            status = put_argument(&lists, out);
    }
    return status;
}
