// SPDX-License-Identifier: Apache-2.0
// A few arguments of many events, by their keys. Where they stand is found once a form: most
// events of a foreign trace have no argument beside those of their form.
#ifndef GAIT_LOAD_ARG_KEYS_H
#define GAIT_LOAD_ARG_KEYS_H

#include <stdbool.h>

#include "base/index/hash_index.h"
#include "format/args.h"
#include "load/arg_list.h"

enum { ARG_KEYS_MOST = 8 };

struct arg_plan { // of a form
    const struct dictionary *dictionary;
    uint64_t form;
    bool is_simple; // no text stands in the form itself
    bool is_there[ARG_KEYS_MOST];
    struct args_item items[ARG_KEYS_MOST];
};

struct arg_keys {
    const char *const *keys;
    size_t count; // at most ARG_KEYS_MOST
    struct hash_index index;
    struct arg_plan *plans;
    size_t plan_count, plan_capacity;
    struct arg_list list; // of an event that has arguments of its own
};

void arg_keys_init(struct arg_keys *keys, const char *const *names, size_t count);
void arg_keys_finish(struct arg_keys *keys); // takes a zeroed struct

// The argument of each key, with a key of NULL where the event has none; of two the last. Texts
// are good until the next call. `form` 0: the event has none.
GAIT_CHECK int arg_keys_read(struct arg_keys *keys, const struct dictionary *dictionary,
                             uint64_t form, const struct arg_source *source,
                             struct gait_arg *ret_args);

#endif
