// SPDX-License-Identifier: Apache-2.0
#include "analyse/op_stacks.h"

#include <stdlib.h>

#include "base/array.h"

#define MOST_OPEN (1u << 20)

void op_stack_finish(struct op_stack *stack)
{
    free(stack->open);
    *stack = (struct op_stack){.open = NULL};
}

uint32_t op_stack_at(struct op_stack *stack, int64_t start_ns)
{
    while (stack->depth && stack->open[stack->depth - 1].end_ns <= start_ns)
        stack->depth--;
    return stack->depth ? stack->open[stack->depth - 1].stack : 0;
}

int op_stack_push(struct op_stack *stack, int64_t end_ns, uint32_t number)
{
    const struct array_shape shape = {sizeof *stack->open, MOST_OPEN};
    int status = array_reserve((void **)&stack->open, &stack->room, stack->depth + 1, shape);
    if (!status)
        stack->open[stack->depth++] = (struct op_open){end_ns, number};
    return status;
}
