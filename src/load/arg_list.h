// SPDX-License-Identifier: Apache-2.0
// The arguments of one event, as the public API shows them.
#ifndef GAIT_LOAD_ARG_LIST_H
#define GAIT_LOAD_ARG_LIST_H

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

// Replaces what the list holds by one number.
GAIT_CHECK int arg_list_set_integer(struct arg_list *list, const char *key, int64_t value);

#endif
