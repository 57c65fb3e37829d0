// SPDX-License-Identifier: Apache-2.0
// The arguments of one event. Texts are copied, for the 0 behind them, and
// found again by their offset once the last one stands.
#include "load/arg_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/args.h"

#define ARG_LIMIT (32u << 20) // an argument takes two bytes or more of a 64 MiB column

void arg_list_init(struct arg_list *list)
{
    *list = (struct arg_list){0};
    buffer_init(&list->text, (size_t)FRAME_MAX_RAW * 2);
}

void arg_list_finish(struct arg_list *list)
{
    if (!list)
        return;
    free(list->args);
    buffer_finish(&list->text);
    *list = (struct arg_list){0};
}

static void set_text(struct gait_arg *arg, const struct dictionary *dictionary, uint64_t string)
{
    // the dictionary's text has its own 0 and stays
    arg->text = dictionary_text(dictionary, string);
    arg->text_bytes = slice_of(arg->text).count;
    arg->integer = 0;
}

// Both are exact as doubles, so that their quotient is the one nearest to the decimal.
static double decimal(int64_t number, unsigned digits)
{
    double scale = 1;

    while (digits--)
        scale *= 10;
    return (double)number / scale;
}

// A value that stands in a column of the event.
static void fill_blank(struct gait_arg *arg, const struct args_item *item, uint64_t value,
                       const struct dictionary *dictionary)
{
    switch (item->kind) {
    case ARGS_BLANK_DECIMAL:
        arg->kind = GAIT_ARG_REAL;
        arg->real = decimal((int64_t)value, item->digits);
        break;
    case ARGS_BLANK_REAL:
        arg->kind = GAIT_ARG_REAL;
        memcpy(&arg->real, &value, sizeof(arg->real));
        break;
    case ARGS_BLANK_STRING:
    case ARGS_BLANK_JSON:
        arg->kind = item->kind == ARGS_BLANK_STRING ? GAIT_ARG_TEXT : GAIT_ARG_JSON;
        set_text(arg, dictionary, value);
        break;
    default:
        arg->kind = GAIT_ARG_INT;
        arg->integer = (int64_t)value;
    }
}

void arg_list_value(struct gait_arg *arg, const struct args_item *item,
                    const struct arg_source *source, const struct dictionary *dictionary)
{
    *arg = (struct gait_arg){.key = dictionary_text(dictionary, item->key),
                             .kind = (enum gait_arg_kind)item->kind,
                             .integer = item->integer,
                             .real = item->real};
    if (item->kind == ARGS_STRING || item->kind == ARGS_JSON) {
        arg->kind = item->kind == ARGS_STRING ? GAIT_ARG_TEXT : GAIT_ARG_JSON;
        set_text(arg, dictionary, (uint32_t)item->integer);
    } else if (item->kind >= ARGS_BLANK_INT) {
        const uint64_t *column = source->columns ? source->columns[item->blank] : NULL;
        fill_blank(arg, item, column ? column[source->row] : 0, dictionary);
    }
}

static int add_item(struct arg_list *list, const struct args_item *item,
                    const struct arg_source *source, const struct dictionary *dictionary)
{
    int status = ARRAY_RESERVE(list->args, list->capacity, list->count + 1, ARG_LIMIT);

    if (status)
        return status;
    struct gait_arg *arg = &list->args[list->count];
    arg_list_value(arg, item, source, dictionary);
    if (item->kind == ARGS_TEXT || item->kind == ARGS_RAW) {
        arg->text_bytes = item->text.count;
        status = buffer_append(&list->text, item->text.bytes, item->text.count);
        if (!status)
            status = buffer_append(&list->text, "", 1);
    }
    list->count += !status;
    return status;
}

static void point_at_texts(struct arg_list *list)
{
    size_t at = 0;

    for (size_t i = 0; i < list->count; i++) {
        struct gait_arg *arg = &list->args[i];

        if (arg->text || (arg->kind != GAIT_ARG_TEXT && arg->kind != GAIT_ARG_RAW))
            continue;
        arg->text = (const char *)list->text.bytes + at;
        at += arg->text_bytes + 1;
    }
}

int arg_list_unpack(struct arg_list *list, const struct arg_source *source,
                    const struct dictionary *dictionary)
{
    struct slice parts[] = {source->form, source->packed};
    struct args_item item;
    int got = 0;

    list->count = 0;
    list->text.used = 0;
    for (size_t i = 0; got >= 0 && i < sizeof(parts) / sizeof(parts[0]); i++) {
        while (parts[i].count && (got = args_next(&parts[i], &item)) == 1) {
            got = add_item(list, &item, source, dictionary);
            if (got)
                break;
        }
    }
    point_at_texts(list);
    return got < 0 ? got : 0;
}

int arg_list_set_integer(struct arg_list *list, const char *key, int64_t value)
{
    int status = ARRAY_RESERVE(list->args, list->capacity, 1, ARG_LIMIT);

    if (status)
        return status;
    list->args[0] = (struct gait_arg){.key = key, .kind = GAIT_ARG_INT, .integer = value};
    list->count = 1;
    return 0;
}
