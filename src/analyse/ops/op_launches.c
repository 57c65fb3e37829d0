// SPDX-License-Identifier: Apache-2.0
// As torch.profiler joins them: a call of the runtime counts as made on the thread of its op,
// one without an op as made on the thread of the training.
#include "analyse/ops/op_launches.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/fail.h"

struct joining {
    const struct op_launches *launches;
    struct gait_op *ops;
    size_t count;
    uint32_t *places; // of each op in order: its place in `rows`
    uint32_t *order;  // and the other way round
};

// More calls than are remembered (facts/launches.c): a power of 2.
enum { CALLS = 1 << 17, MOST_ROWS = 1 << 28 };

void op_launches_finish(struct op_launches *launches)
{
    for (size_t i = 0; i < launches->thread_count; i++)
        free(launches->threads[i].ops);
    free(launches->threads);
    free(launches->by);
    free(launches->rows);
}

int op_launches_add(struct op_launches *launches, const struct gait_op *op, struct op_launch launch)
{
    int status = ARRAY_RESERVE(launches->rows, launches->room, launches->count + 1, UINT32_MAX - 1);
    if (status)
        return status;
    launches->rows[launches->count++] = launch;
    launches->has_device |= (op->flags & GAIT_OP_ON_DEVICE) != 0;
    return GAIT_OK;
}

static int thread_of(struct op_launches *launches, uint32_t thread,
                     struct op_open_stack **ret_stack)
{
    const int status =
        ARRAY_RESERVE(launches->threads, launches->thread_room, (size_t)thread + 1, MOST_ROWS);
    if (status)
        return status;
    for (; launches->thread_count <= thread; launches->thread_count++)
        launches->threads[launches->thread_count] = (struct op_open_stack){.depth = 0};
    *ret_stack = &launches->threads[thread];
    return GAIT_OK;
}

// Times only rise: what is over stays so.
static void leave_ended(struct op_open_stack *stack, int64_t at_ns)
{
    while (stack->depth && stack->ops[stack->depth - 1].end_ns <= at_ns)
        stack->depth--;
}

int op_launches_open(struct op_launches *launches, uint32_t thread, int64_t start_ns,
                     int64_t end_ns)
{
    struct op_open_stack *stack;
    int status = thread_of(launches, thread, &stack);
    if (status)
        return status;
    leave_ended(stack, start_ns);
    status = ARRAY_RESERVE(stack->ops, stack->room, stack->depth + 1, MOST_ROWS);
    if (!status)
        stack->ops[stack->depth++] = (struct op_opened){end_ns, (uint32_t)launches->count};
    return status;
}

int op_launches_call(struct op_launches *launches, const struct launch *call)
{
    struct op_open_stack *stack;
    uint32_t *by = &launches->by[call->number % CALLS];
    *by = OP_LAUNCHED_BY_NONE;
    if (call->thread == LAUNCH_NO_THREAD)
        return GAIT_OK;
    const int status = thread_of(launches, call->thread, &stack);
    if (status)
        return status;
    leave_ended(stack, call->start_ns);
    if (stack->depth)
        *by = stack->ops[stack->depth - 1].place;
    return GAIT_OK;
}

// Threads and calls of each rank have numbers of their own.
int op_launches_begin_rank(struct op_launches *launches)
{
    for (size_t i = 0; i < launches->thread_count; i++)
        launches->threads[i].depth = 0;
    if (!launches->by)
        launches->by = malloc(CALLS * sizeof *launches->by);
    if (!launches->by)
        return fail(GAIT_ERR_MEMORY, "no memory for calls");
    for (size_t i = 0; i < CALLS; i++)
        launches->by[i] = OP_LAUNCHED_BY_NONE;
    return GAIT_OK;
}

uint32_t op_launches_by(const struct op_launches *launches, const struct launch *call)
{
    return call ? launches->by[call->number % CALLS] : OP_LAUNCHED_BY_NONE;
}

// Places are whole numbers below 2^32: a double holds them.
static void take_places(struct joining *joining)
{
    for (size_t i = 0; i < joining->count; i++) {
        joining->places[i] = (uint32_t)joining->ops[i].kernel_us;
        joining->order[joining->places[i]] = (uint32_t)i;
        joining->ops[i].kernel_us = 0;
    }
}

static int64_t main_thread(const struct joining *joining)
{
    for (size_t i = 0; i < joining->count; i++)
        if (joining->launches->rows[joining->places[i]].is_op)
            return joining->ops[i].thread;
    return 0;
}

static void join(struct joining *joining)
{
    const int64_t thread = main_thread(joining);
    for (size_t i = 0; i < joining->count; i++) {
        struct gait_op *op = &joining->ops[i];
        const struct op_launch *launch = &joining->launches->rows[joining->places[i]];
        op->flags |= GAIT_OP_HAS_DEVICE;
        if (launch->is_op || op->flags & GAIT_OP_PYTHON)
            continue;
        struct gait_op *by =
            launch->by == OP_LAUNCHED_BY_NONE ? NULL : &joining->ops[joining->order[launch->by]];
        if (!(op->flags & GAIT_OP_ON_DEVICE))
            op->thread = by ? by->thread : thread;
        else if (by)
            by->kernel_us += op->end_us - op->start_us;
    }
}

int op_launches_join(const struct op_launches *launches, struct gait_op *ops, size_t count)
{
    struct joining joining = {.launches = launches, .ops = ops, .count = count};
    int status = GAIT_OK;
    joining.places = calloc(count + 1, sizeof *joining.places);
    joining.order = calloc(count + 1, sizeof *joining.order);
    if (!joining.places || !joining.order)
        status = fail(GAIT_ERR_MEMORY, "no memory for the launches of %zu events", count);
    if (!status)
        take_places(&joining);
    if (!status && launches->has_device)
        join(&joining);
    free(joining.places);
    free(joining.order);
    return status;
}
