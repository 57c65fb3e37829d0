// SPDX-License-Identifier: Apache-2.0
// The args column: typed key/value pairs of one event (FORMAT.md section 3).
#ifndef GAIT_FORMAT_ARGS_H
#define GAIT_FORMAT_ARGS_H

#include "base/buffer.h"
#include "base/slice.h"

enum args_kind { ARGS_INT = 1, ARGS_REAL = 2, ARGS_TEXT = 3, ARGS_RAW = 4, ARGS_STRING = 5 };

struct args_item {
    uint32_t key; // string id
    enum args_kind kind;
    int64_t integer; // of STRING: the string id
    double real;
    struct slice text; // TEXT and RAW; borrows
};

GAIT_CHECK int args_append(struct buffer *out, const struct args_item *item);

// Takes the next item off the front of `args`: 1 and an item, 0 at the end,
// GAIT_ERR_FORMAT on nonsense.
GAIT_CHECK int args_next(struct slice *args, struct args_item *ret_item);

#endif
