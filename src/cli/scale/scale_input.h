// SPDX-License-Identifier: Apache-2.0
// What `gait scale` is given: runs, traces, itwinai's folders, folders of all of these.
#ifndef GAIT_CLI_SCALE_INPUT_H
#define GAIT_CLI_SCALE_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "analyse/scale/scale_set.h"

enum { SCALE_MOST_IDS = 64 };

// A file of CSV that was read; both texts are the set's.
struct scale_table {
    const char *path, *run;
};

struct scale_input {
    struct scale_set *set;
    const char *ids; // "a,b": only runs of these names; NULL: all
    bool is_uncached;
    bool found[SCALE_MOST_IDS]; // whether a run of that name in `ids` was there
    struct scale_table *tables;
    size_t table_count, table_capacity;
};

void scale_input_finish(struct scale_input *input); // takes a zeroed struct

// Adds what `path` holds. What cannot be used is noted in the set with the reason.
GAIT_CHECK int scale_input_read(struct scale_input *input, const char *path);

// Fails where one of the names was not found, or where nothing was.
GAIT_CHECK int scale_input_check(const struct scale_input *input);

#endif
