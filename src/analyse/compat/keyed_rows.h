// SPDX-License-Identifier: Apache-2.0
// Places of rows by a number that the rows have: a correlation, an external id, a stream, a time.
#ifndef GAIT_ANALYSE_COMPAT_KEYED_ROWS_H
#define GAIT_ANALYSE_COMPAT_KEYED_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

struct keyed {
    int64_t key;
    size_t at;
};

struct keyed_rows {
    struct keyed *rows; // once sorted: by key; of one key as they stand
    size_t count;
};
#define KEYED_NONE SIZE_MAX

GAIT_CHECK int keyed_rows_init(struct keyed_rows *rows, size_t most);
void keyed_rows_finish(struct keyed_rows *rows); // takes a zeroed struct

// At most as many as there is room for.
void keyed_rows_add(struct keyed_rows *rows, int64_t key, size_t at);
void keyed_rows_sort(struct keyed_rows *rows);

// --- once sorted -------------------------------------------------------------------------

// The place in `rows` of the first one with that key or a greater one.
size_t keyed_rows_from(const struct keyed_rows *rows, int64_t key);

// The place in `rows` behind the last one with that key or a smaller one.
size_t keyed_rows_behind(const struct keyed_rows *rows, int64_t key);

// The first one's `at`; KEYED_NONE: there is none.
size_t keyed_rows_find(const struct keyed_rows *rows, int64_t key);

#endif
