// SPDX-License-Identifier: Apache-2.0
// The arguments of one event, as the public API shows them.
#ifndef GAIT_LOAD_ARG_LIST_H
#define GAIT_LOAD_ARG_LIST_H

#include <stdbool.h>

#include "load/shard/dictionary.h"

struct arg_list {
    struct gait_arg *args;
    size_t count, capacity;
    struct buffer text; // the texts, each with a 0 behind it
};

void arg_list_init(struct arg_list *list);
void arg_list_finish(struct arg_list *list); // takes NULL and a zeroed struct

// The arguments of one row: those of its form, what that leaves open standing in columns
// in the order of enum blank (NULL: zeros), and those that the row has by itself.
struct arg_source {
    struct slice form, packed;
    uint64_t *const *columns;
    size_t row;
};

// Replaces what the list holds by them. Nonsense is GAIT_ERR_FORMAT; what stands in front
// of it is kept.
GAIT_CHECK int arg_list_unpack(struct arg_list *list, const struct arg_source *source,
                               const struct dictionary *dictionary);

// One of them that is no text of its own: its key and its value.
struct args_item;
void arg_list_value(struct gait_arg *arg, const struct args_item *item,
                    const struct arg_source *source, const struct dictionary *dictionary);

// Whether it is a number, and which.
static inline bool arg_list_number(const struct gait_arg *arg, double *ret_number)
{
    const bool is_integer = arg->kind == GAIT_ARG_INT;
    *ret_number = is_integer ? (double)arg->integer : arg->real;
    return is_integer || arg->kind == GAIT_ARG_REAL;
}

// Replaces what the list holds by one number.
GAIT_CHECK int arg_list_set_integer(struct arg_list *list, const char *key, int64_t value);

#endif
