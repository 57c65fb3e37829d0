// SPDX-License-Identifier: Apache-2.0
#include "analyse/ops/op_shapes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/flops/flops.h"
#include "analyse/flops/kineto_shapes.h"
#include "analyse/flops/shape_text.h"
#include "base/array.h"

#define MOST_TEXT (1u << 20)

const char *const op_shape_keys[OP_SHAPE_KEYS] = {"shapes",          "Input Dims", "Input type",
                                                  "Concrete Inputs", "Input dims", "Input Type"};

int op_shapes_init(struct op_shapes *shapes, struct op_texts *texts)
{
    *shapes = (struct op_shapes){.texts = texts};
    tuple_map_init(&shapes->keys, 2);
    buffer_init(&shapes->sizes, MOST_TEXT);
    buffer_init(&shapes->words, MOST_TEXT);
    return op_texts_add(texts, slice_of(""), &shapes->none.shapes);
}

void op_shapes_finish(struct op_shapes *shapes)
{
    tuple_map_finish(&shapes->keys);
    buffer_finish(&shapes->sizes);
    buffer_finish(&shapes->words);
    free(shapes->calls);
    *shapes = (struct op_shapes){.texts = NULL};
}

static int learn(struct op_shapes *shapes, uint32_t name, uint32_t args, struct op_call *call)
{
    struct op_texts *texts = shapes->texts;
    const char *text = op_texts_get(texts, args);
    call->flops = (int64_t)flops_of(op_texts_get(texts, name), text, FLOPS_TABLE);
    const int status = shape_text_sizes(text, &shapes->sizes);
    const struct slice sizes = {shapes->sizes.bytes, shapes->sizes.used};
    return status ? status : op_texts_add(texts, sizes, &call->shapes);
}

// The text of its arguments, gait's own or made of what another tool's trace says.
static int find_words(struct op_shapes *shapes, const struct gait_arg *args, size_t count,
                      bool *ret_is_told, struct slice *ret_words)
{
    for (size_t i = 0; i < count; i++) {
        if (!args[i].key || args[i].kind != GAIT_ARG_TEXT || strcmp(args[i].key, "shapes") != 0)
            continue;
        *ret_is_told = true;
        *ret_words = (struct slice){(const uint8_t *)args[i].text, args[i].text_bytes};
        return GAIT_OK;
    }
    int status = kineto_shapes(args, count, &shapes->words, ret_is_told);
    *ret_words = (struct slice){shapes->words.bytes, shapes->words.used};
    return status;
}

int op_shapes_get(struct op_shapes *shapes, uint32_t name, const struct gait_arg *args,
                  size_t count, struct op_call *ret_call)
{
    const size_t known = shapes->keys.count;
    struct slice text;
    bool is_told = false;
    uint32_t words, index;
    *ret_call = shapes->none;
    int status = find_words(shapes, args, count, &is_told, &text);
    if (status || !is_told)
        return status;
    status = op_texts_add(shapes->texts, text, &words);
    if (status)
        return status;
    const uint64_t key[2] = {name, words};
    status = tuple_map_add(&shapes->keys, key, &index);
    if (!status)
        status = ARRAY_RESERVE(shapes->calls, shapes->room, shapes->keys.count, UINT32_MAX);
    if (!status && shapes->keys.count > known)
        status = learn(shapes, name, words, &shapes->calls[index]);
    if (!status)
        *ret_call = shapes->calls[index];
    return status;
}
