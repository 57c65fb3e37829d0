// SPDX-License-Identifier: Apache-2.0
// As torch.profiler joins them: a call of the runtime counts as made on the thread of its op,
// one without an op as made on the thread of the training.
#include "analyse/ops/op_launches.h"

#include <stdlib.h>

#include "analyse/ops/tuple_map.h"
#include "base/array.h"
#include "base/fail.h"

struct joining {
    const struct op_launches *launches;
    struct gait_op *ops;
    size_t count;
    uint32_t *places;     // of each op in order: its place in `rows`
    struct tuple_map ids; // of ops
    uint32_t *found;      // of each id: the op in order
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

int op_launches_number(struct op_launches *launches, struct launch_ops *times)
{
    int status = launch_ops_sort(times);
    for (size_t i = 0; i < launches->count && !status; i++) {
        struct op_launch *row = &launches->rows[i];
        const uint32_t by = row->is_op ? GAIT_NO_SITE : launch_ops_find(times, row->link);
        if (by >= launches->count)
            continue;
        launches->rows[by].op = (uint64_t)by + 1;
        row->op = (uint64_t)by + 1;
    }
    return status;
}

// Places are whole numbers below 2^32: a double holds them.
static void take_places(struct joining *joining)
{
    for (size_t i = 0; i < joining->count; i++) {
        joining->places[i] = (uint32_t)joining->ops[i].kernel_us;
        joining->ops[i].kernel_us = 0;
    }
}

static int find_ops(struct joining *joining)
{
    int status = GAIT_OK;
    for (size_t i = 0; !status && i < joining->count; i++) {
        const struct op_launch *launch = &joining->launches->rows[joining->places[i]];
        const size_t known = joining->ids.count;
        uint32_t index;
        if (!launch->is_op || !launch->op)
            continue;
        status = tuple_map_add(&joining->ids, &launch->op, &index);
        if (!status && joining->ids.count > known)
            joining->found[index] = (uint32_t)i;
    }
    return status;
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
        const uint32_t index = launch->op ? tuple_map_find(&joining->ids, &launch->op) : TUPLE_NONE;
        struct gait_op *by = index == TUPLE_NONE ? NULL : &joining->ops[joining->found[index]];
        if (!(op->flags & GAIT_OP_ON_DEVICE))
            op->thread = by ? by->thread : thread;
        else if (by && !(by->flags & GAIT_OP_ASYNC))
            by->kernel_us += op->end_us - op->start_us;
    }
}

int op_launches_join(const struct op_launches *launches, struct gait_op *ops, size_t count)
{
    struct joining joining = {.launches = launches, .ops = ops, .count = count};
    int status = GAIT_OK;
    tuple_map_init(&joining.ids, 1);
    joining.places = calloc(count + 1, sizeof *joining.places);
    joining.found = calloc(count + 1, sizeof *joining.found);
    if (!joining.places || !joining.found)
        status = fail(GAIT_ERR_MEMORY, "no memory for the launches of %zu events", count);
    if (!status)
        take_places(&joining);
    if (!status && launches->has_device)
        status = find_ops(&joining);
    if (!status && launches->has_device)
        join(&joining);
    tuple_map_finish(&joining.ids);
    free(joining.places);
    free(joining.found);
    return status;
}
