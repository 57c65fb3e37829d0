// SPDX-License-Identifier: Apache-2.0
// As torch.profiler joins them: a call of the runtime counts as made on the thread of its op,
// one without an op as made on the thread of the training.
#include "analyse/ops/op_launches.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/fail.h"

struct joining {
    const struct op_launches *launches;
    const struct launch_ops *times;
    struct gait_op *ops;
    size_t count;
    uint32_t *places; // of each op in order: its place in `rows`
    uint32_t *order;  // and the other way round
};

void op_launches_finish(struct op_launches *launches)
{
    free(launches->rows);
}

int op_launches_add(struct op_launches *launches, const struct gait_op *op, struct op_launch launch)
{
    const struct array_shape shape = {sizeof *launches->rows, UINT32_MAX - 1};
    int status =
        array_reserve((void **)&launches->rows, &launches->room, launches->count + 1, shape);
    if (status)
        return status;
    launches->rows[launches->count++] = launch;
    launches->has_device |= (op->flags & GAIT_OP_ON_DEVICE) != 0;
    return GAIT_OK;
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
        const uint32_t place = launch_ops_find(joining->times, launch->link);
        struct gait_op *by = place == LAUNCH_NONE ? NULL : &joining->ops[joining->order[place]];
        if (!(op->flags & GAIT_OP_ON_DEVICE))
            op->thread = by ? by->thread : thread;
        else if (by)
            by->kernel_us += op->end_us - op->start_us;
    }
}

int op_launches_join(const struct op_launches *launches, struct launch_ops *times,
                     struct gait_op *ops, size_t count)
{
    struct joining joining = {.launches = launches, .times = times, .ops = ops, .count = count};
    int status = launch_ops_sort(times);
    joining.places = calloc(count + 1, sizeof *joining.places);
    joining.order = calloc(count + 1, sizeof *joining.order);
    if (!status && (!joining.places || !joining.order))
        status = fail(GAIT_ERR_MEMORY, "no memory for the launches of %zu events", count);
    if (!status)
        take_places(&joining);
    if (!status && launches->has_device)
        join(&joining);
    free(joining.places);
    free(joining.order);
    return status;
}
