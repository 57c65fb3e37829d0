// SPDX-License-Identifier: Apache-2.0
// The ops of a thread that are open. They come in order of start, so a stack tells who called
// whom. An op whose only child has its name is that child told twice: the child stays on top of
// the stack when it ends, until another child or the end of its parent tells.
#ifndef GAIT_ANALYSE_OP_STACK_H
#define GAIT_ANALYSE_OP_STACK_H

#include <stdbool.h>

#include "analyse/memory/op_memory.h"
#include "analyse/ops/op_paths.h"

struct op_begun { // an op, as it begins
    struct op_first first;
    uint64_t flops;
    uint32_t row, name;
    bool is_op;       // else a call of the runtime
    bool is_left_out; // it holds others, and does not count
};

struct op_bytes { // that came and went: all, and of them in children
    int64_t all[OP_ROW_MEMORIES], inside[OP_ROW_MEMORIES];
};

struct op_frame { // an op that is open, or the only child of the one below it
    struct op_begun op;
    uint64_t covered_ns; // by children
    int64_t covered_until_ns;
    uint32_t children;
    uint32_t ops;  // of it and those below: the nearest op's place in the stack + 1
    bool has_lone; // its only child so far has its name, is over, and is the frame above
    struct op_place place;
};

struct op_stack {
    struct op_frame *frames;
    struct op_bytes *bytes; // of each frame; NULL: nothing is on record
    size_t depth, room, byte_room;
};

struct op_sink { // where ops go when they end
    struct op_rows *rows;
    struct op_paths *paths;
    struct op_memory *memory;
};

void op_stack_finish(struct op_stack *stack); // takes a zeroed struct

GAIT_CHECK int op_stack_enter(struct op_stack *stack, const struct op_sink *sink,
                              const struct op_begun *op);
void op_stack_leave_all(struct op_stack *stack, const struct op_sink *sink);

// A call of that number was made then, by the innermost op that is open, whatever the call holds.
GAIT_CHECK int op_stack_launch(struct op_stack *stack, const struct op_sink *sink, uint32_t number,
                               int64_t at_ns);

static inline uint64_t op_length_ns(const struct op_first *first)
{
    return (uint64_t)first->end_ns - (uint64_t)first->start_ns;
}

// What came and went in that time.
void op_stack_take_bytes(const struct op_sink *sink, const struct op_first *first,
                         int64_t *ret_bytes);

#endif
