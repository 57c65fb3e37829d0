// SPDX-License-Identifier: Apache-2.0
// Arguments by key: from a form's columns, from the event itself, and where both tell.
#define _GNU_SOURCE
#include "load/arg_keys.h"

#include "load/run.h"
#include "support/shard_builder.h"
#include "support/tap.h"

static const char *const names[] = {"device", "blocks", "name", "never"};
enum { DEVICE, BLOCKS, NAME, NEVER, KEYS };

// Strings: 1 device, 2 blocks, 3 name, 4 "gemm".
static struct slice packed(struct buffer *buffer, const struct args_item *items, size_t count)
{
    buffer_init(buffer, 1000);
    for (size_t i = 0; i < count; i++)
        builder_must(args_append(buffer, &items[i]), "arguments");
    return (struct slice){buffer->bytes, buffer->used};
}

TEST("arg keys: a form's constants and columns, then what the event says itself")
{
    struct shard_builder builder;
    struct gait_trace trace;
    struct arg_keys keys;
    struct gait_arg args[KEYS];
    struct buffer form_bytes, own_bytes;
    const struct args_item form_items[] = {
        {.key = 1, .kind = ARGS_INT, .integer = 3},
        {.key = 2, .kind = ARGS_BLANK_DECIMAL, .blank = BLANK_VALUE, .digits = 2},
        {.key = 3, .kind = ARGS_STRING, .integer = 4},
    };
    const struct args_item own_items[] = {{.key = 1, .kind = ARGS_INT, .integer = 7},
                                          {.key = 3, .kind = ARGS_TEXT, .text = slice_of("own")}};
    const struct slice form = packed(&form_bytes, form_items, 3),
                       own = packed(&own_bytes, own_items, 2);
    uint64_t value[2] = {0, 250};
    uint64_t *columns[BLANK_COUNT] = {[BLANK_VALUE] = value};
    builder_init(&builder);
    builder_string(&builder, 1, "device");
    builder_string(&builder, 2, "blocks");
    builder_string(&builder, 3, "name");
    builder_string(&builder, 4, "gemm");
    builder_close(&builder);
    const struct slice bytes = {builder.out.memory.bytes, builder.out.memory.used};
    if (!ok(!run_open_memory(&trace.run, bytes)))
        return;
    const struct dictionary *dictionary = &trace.run.shards[0]->dictionary;
    arg_keys_init(&keys, names, KEYS);

    struct arg_source source = {.form = form, .columns = columns, .row = 1};
    for (int again = 0; again < 2; again++) { // the second time by the plan
        is_int(arg_keys_read(&keys, dictionary, 9, &source, args), 0);
        is_int(args[DEVICE].integer, 3);
        ok(args[BLOCKS].kind == GAIT_ARG_REAL && args[BLOCKS].real == 2.5);
        is_str(args[NAME].text, "gemm");
        ok(!args[NEVER].key);
    }
    is_u64(keys.plan_count, 1);

    source.packed = own;
    is_int(arg_keys_read(&keys, dictionary, 9, &source, args), 0);
    is_int(args[DEVICE].integer, 7);
    ok(args[BLOCKS].real == 2.5);
    is_str(args[NAME].text, "own");

    source = (struct arg_source){.row = 0};
    is_int(arg_keys_read(&keys, dictionary, 0, &source, args), 0);
    ok(!args[DEVICE].key && !args[NAME].key);
    arg_keys_finish(&keys);
    run_close(&trace.run);
    builder_finish(&builder);
    buffer_finish(&form_bytes);
    buffer_finish(&own_bytes);
}

TEST("arg keys: forms without end are not kept without end, and nonsense keeps what is before it")
{
    struct arg_keys keys;
    struct gait_arg args[KEYS];
    struct buffer form_bytes;
    const struct args_item item = {.key = 0, .kind = ARGS_INT, .integer = 3};
    struct dictionary dictionary = {.home = {NULL, NULL, NULL}};
    struct slice form = packed(&form_bytes, &item, 1);
    const struct arg_source source = {.form = form};
    int status = 0;
    arg_keys_init(&keys, names, KEYS);
    for (uint64_t i = 1; i < 40000; i++)
        status |= arg_keys_read(&keys, &dictionary, i, &source, args);
    is_int(status, 0);
    ok(keys.plan_count <= 1 << 14);
    arg_keys_finish(&keys);
    buffer_finish(&form_bytes);
}
