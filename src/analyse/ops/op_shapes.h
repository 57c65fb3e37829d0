// SPDX-License-Identifier: Apache-2.0
// The sizes of an op's inputs as tables show them, and the FLOPs that follow from them: worked
// out once for each name and text of arguments.
#ifndef GAIT_ANALYSE_OP_SHAPES_H
#define GAIT_ANALYSE_OP_SHAPES_H

#include <gait/trace.h>

#include "analyse/ops/op_texts.h"
#include "analyse/ops/tuple_map.h"
#include "base/buffer.h"

enum { OP_SHAPE_KEYS = 6 };
extern const char *const op_shape_keys[OP_SHAPE_KEYS]; // of the arguments that tell

struct op_call { // what follows from a name and its arguments
    int64_t flops;
    uint32_t shapes; // a text
};

struct op_shapes {
    struct op_texts *texts;
    struct op_call none; // of a call whose arguments nobody told
    struct tuple_map keys;
    struct op_call *calls;
    size_t room;
    struct buffer sizes, words;
};

GAIT_CHECK int op_shapes_init(struct op_shapes *shapes, struct op_texts *texts);
void op_shapes_finish(struct op_shapes *shapes); // takes a zeroed struct

// Of an op of that name (a text); arguments without a key are skipped.
GAIT_CHECK int op_shapes_get(struct op_shapes *shapes, uint32_t name, const struct gait_arg *args,
                             size_t count, struct op_call *ret_call);

#endif
