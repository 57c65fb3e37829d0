// SPDX-License-Identifier: Apache-2.0
// The text of an op's arguments (docs/TORCH.md, "Ops") taken apart.
#ifndef GAIT_ANALYSE_SHAPE_TEXT_H
#define GAIT_ANALYSE_SHAPE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/error.h>

enum { SHAPE_NUMBERS_MAX = 64 };

enum shape_kind {
    SHAPE_NONE,    // no tensor, no number, or a word that is not understood
    SHAPE_TENSOR,  // numbers are its sizes
    SHAPE_HIDDEN,  // a tensor whose sizes are not known
    SHAPE_NUMBER,  // one number, where it was told
    SHAPE_NUMBERS, // a list of them, where they were told
    SHAPE_TENSORS, // a list of tensors, not looked into
};

struct shape_arg {
    enum shape_kind kind;
    bool is_told; // numbers are there, if only none of them
    uint32_t count;
    int64_t numbers[SHAPE_NUMBERS_MAX];
};

// The next argument of `*text`, which moves on; false where there is none left.
bool shape_text_next(const char **text, struct shape_arg *ret_arg);

struct buffer;

// The sizes of all arguments as tables show them, "[[2, 3], [], [4]]": what is no
// tensor has none. Replaces what is in `out`.
GAIT_CHECK int shape_text_sizes(const char *text, struct buffer *out);

#endif
