// SPDX-License-Identifier: Apache-2.0
// The Python functions that are open on one thread, while its events are walked
// through in order of their begin.
#ifndef GAIT_ANALYSE_OP_STACKS_H
#define GAIT_ANALYSE_OP_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

struct op_open {
    int64_t end_ns;
    uint32_t stack; // with this function on top
};

struct op_stack {
    struct op_open *open;
    size_t depth, room;
};

void op_stack_finish(struct op_stack *stack); // takes a zeroed struct

// The stack of what begins then; 0: none.
uint32_t op_stack_at(struct op_stack *stack, int64_t start_ns);

GAIT_CHECK int op_stack_push(struct op_stack *stack, int64_t end_ns, uint32_t number);

#endif
