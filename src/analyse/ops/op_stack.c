// SPDX-License-Identifier: Apache-2.0
#include "analyse/ops/op_stack.h"

#include <stdlib.h>

#include "analyse/time/wrap_add.h"
#include "base/array.h"

enum { MOST_OPEN = 1 << 28 };

void op_stack_finish(struct op_stack *stack)
{
    free(stack->frames);
    free(stack->bytes);
    *stack = (struct op_stack){.depth = 0};
}

static void add_bytes(struct op_row *row, const struct op_bytes *bytes)
{
    for (int i = 0; i < OP_ROW_MEMORIES; i++) {
        row->bytes[i] = wrap_add(row->bytes[i], bytes->all[i]);
        row->self_bytes[i] =
            wrap_add(row->self_bytes[i], wrap_subtract(bytes->all[i], bytes->inside[i]));
    }
}

// Of the frame at that place.
static void add_sums(const struct op_sink *sink, const struct op_stack *stack, size_t at)
{
    const struct op_frame *frame = &stack->frames[at];
    struct op_row *row = &sink->rows->rows[frame->op.row];
    const uint64_t length = op_length_ns(&frame->op.first);
    op_paths_settle(sink->paths, &frame->place, false);
    if (frame->op.is_left_out)
        return;
    op_rows_count(sink->rows, frame->op.row, &frame->op.first);
    row->total_ns += length;
    row->self_ns += length - frame->covered_ns;
    row->flops += frame->op.flops;
    if (stack->bytes)
        add_bytes(row, &stack->bytes[at]);
}

// What the only child called is called by its parent from now on.
static void absorb(const struct op_sink *sink, const struct op_stack *stack, size_t at)
{
    struct op_frame *frame = &stack->frames[at];
    op_paths_settle(sink->paths, &frame[1].place, true);
    frame->covered_ns = frame[1].covered_ns;
    for (int i = 0; i < OP_ROW_MEMORIES && stack->bytes; i++)
        stack->bytes[at].inside[i] = stack->bytes[at + 1].inside[i];
    frame->has_lone = false;
}

static void leave(const struct op_sink *sink, struct op_stack *stack)
{
    struct op_frame *frame = &stack->frames[--stack->depth];
    struct op_frame *below = stack->depth ? frame - 1 : NULL;
    if (frame->has_lone)
        absorb(sink, stack, stack->depth);
    if (below && below->children == 1 && below->op.name == frame->op.name)
        below->has_lone = true;
    else
        add_sums(sink, stack, stack->depth);
}

void op_stack_leave_all(struct op_stack *stack, const struct op_sink *sink)
{
    while (stack->depth)
        leave(sink, stack);
}

static void cover(struct op_frame *frame, const struct op_first *child)
{
    const int64_t from_ns =
        child->start_ns > frame->covered_until_ns ? child->start_ns : frame->covered_until_ns;
    if (child->end_ns > from_ns) {
        frame->covered_ns += (uint64_t)child->end_ns - (uint64_t)from_ns;
        frame->covered_until_ns = child->end_ns;
    }
}

static bool is_within(const struct op_first *inner, const struct op_first *outer)
{
    return inner->start_ns < outer->end_ns && inner->end_ns <= outer->end_ns;
}

// One more stays free: the only child of the innermost stands there when it is over.
static int reserve(const struct op_sink *sink, struct op_stack *stack)
{
    int status = GAIT_OK;
    if (stack->depth + 2 > stack->room)
        status = ARRAY_RESERVE(stack->frames, stack->room, stack->depth + 2, MOST_OPEN);
    if (!status && sink->memory->count)
        status = ARRAY_RESERVE(stack->bytes, stack->byte_room, stack->depth + 2, MOST_OPEN);
    return status;
}

void op_stack_take_bytes(const struct op_sink *sink, const struct op_first *first,
                         int64_t *ret_bytes)
{
    const struct op_memory_sums sums = op_memory_take(sink->memory, first->start_ns, first->end_ns);
    ret_bytes[OP_ROW_HOST] = sums.cpu_bytes;
    ret_bytes[OP_ROW_DEVICE] = sums.device_bytes;
}

static void enter_bytes(const struct op_sink *sink, struct op_stack *stack)
{
    struct op_bytes *bytes = &stack->bytes[stack->depth];
    *bytes = (struct op_bytes){.all = {0}};
    op_stack_take_bytes(sink, &stack->frames[stack->depth].op.first, bytes->all);
    for (int i = 0; i < OP_ROW_MEMORIES && stack->depth; i++)
        bytes[-1].inside[i] = wrap_add(bytes[-1].inside[i], bytes->all[i]);
}

int op_stack_enter(struct op_stack *stack, const struct op_sink *sink, const struct op_begun *op)
{
    while (stack->depth && !is_within(&op->first, &stack->frames[stack->depth - 1].op.first))
        leave(sink, stack);
    const int status = reserve(sink, stack);
    if (status)
        return status;
    struct op_frame *frame = &stack->frames[stack->depth];
    uint32_t ops = op->is_op ? (uint32_t)stack->depth + 1 : 0;
    if (stack->depth) {
        struct op_frame *below = frame - 1;
        if (below->has_lone)
            add_sums(sink, stack, stack->depth);
        below->has_lone = false;
        below->children++;
        cover(below, &op->first);
        ops = ops ? ops : below->ops;
    }
    *frame = (struct op_frame){.op = *op, .covered_until_ns = op->first.start_ns, .ops = ops};
    if (stack->bytes)
        enter_bytes(sink, stack);
    stack->depth++;
    return GAIT_OK;
}

static int find_places(const struct op_sink *sink, struct op_stack *stack, size_t count)
{
    size_t first = count;
    int status = GAIT_OK;
    while (first && !stack->frames[first - 1].place.path)
        first--;
    for (size_t i = first; i < count && !status; i++) {
        const struct op_place nowhere = {0};
        struct op_frame *frame = &stack->frames[i], *below = i ? frame - 1 : NULL;
        const bool is_doubtful = below && below->children == 1 && below->op.name == frame->op.name;
        status = op_paths_enter(sink->paths, below ? &below->place : &nowhere, frame->op.row,
                                is_doubtful, &frame->place);
    }
    return status;
}

int op_stack_launch(struct op_stack *stack, const struct op_sink *sink, uint32_t number,
                    int64_t at_ns)
{
    while (stack->depth && stack->frames[stack->depth - 1].op.first.end_ns <= at_ns)
        leave(sink, stack);
    const size_t op = stack->depth ? stack->frames[stack->depth - 1].ops : 0;
    const int status = op ? find_places(sink, stack, op) : GAIT_OK;
    if (!status && op)
        op_paths_launch(sink->paths, number, &stack->frames[op - 1].place);
    return status;
}
