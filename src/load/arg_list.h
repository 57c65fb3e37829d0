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

// Replaces what the list holds by the arguments packed in `packed`. Nonsense
// is GAIT_ERR_FORMAT; what stands in front of it is kept.
GAIT_CHECK int arg_list_unpack(struct arg_list *list, struct slice packed,
                               const struct dictionary *dictionary);

// Replaces what the list holds by one number.
GAIT_CHECK int arg_list_set_integer(struct arg_list *list, const char *key, int64_t value);

#endif
