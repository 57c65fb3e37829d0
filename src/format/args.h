// SPDX-License-Identifier: Apache-2.0
// The args column: typed key/value pairs of one event (FORMAT.md section 3).
#ifndef GAIT_FORMAT_ARGS_H
#define GAIT_FORMAT_ARGS_H

#include "base/buffer.h"
#include "base/slice.h"

enum args_kind {
    ARGS_INT = 1,
    ARGS_REAL = 2,
    ARGS_TEXT = 3,
    ARGS_RAW = 4,
    ARGS_STRING = 5,
    ARGS_JSON = 6, // a string id, whose text is JSON
    // of a form alone: the value stands in a column of the event
    ARGS_BLANK_INT = 7,
    ARGS_BLANK_DECIMAL = 8, // times ten to the power of `digits`
    ARGS_BLANK_REAL = 9,    // the bits of a double
    ARGS_BLANK_STRING = 10,
    ARGS_BLANK_JSON = 11,
};

#define ARGS_MAX_DIGITS 15 // after the point of a decimal, whose number stays below 2^53

struct args_item {
    uint32_t key; // string id
    enum args_kind kind;
    int64_t integer; // of STRING and JSON: the string id
    uint8_t blank, digits;
    double real;
    struct slice text; // TEXT and RAW; borrows
};

GAIT_CHECK int args_append(struct buffer *out, const struct args_item *item);

// Takes the next item off the front of `args`: 1 and an item, 0 at the end,
// GAIT_ERR_FORMAT on nonsense.
GAIT_CHECK int args_next(struct slice *args, struct args_item *ret_item);

#endif
