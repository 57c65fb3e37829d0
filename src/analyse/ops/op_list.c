// SPDX-License-Identifier: Apache-2.0
// The public side of <gait/internal/ops.h>; the work is done in op_tree.c and op_times.c, and
// op_read.c reads them from a trace.
#include "analyse/ops/op_list.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/ops/op_times.h"
#include "analyse/ops/op_tree.h"
#include "analyse/ops/tuple_map.h"
#include "analyse/time/wrap_add.h"
#include "base/array.h"
#include "base/fail.h"

enum { KEY_WIDTH = 4 };

static void make_key(const struct gait_op *op, uint32_t stack, const struct gait_grouping *grouping,
                     uint64_t key[KEY_WIDTH])
{
    key[0] = op->key;
    key[1] = grouping->by_overload ? op->overload : 0;
    key[2] = grouping->by_shapes ? op->shapes : 0;
    key[3] = 0;
    if (grouping->stacks)
        key[3] = stack < grouping->stack_count ? grouping->stacks[stack] : stack;
}

static void add_up(struct gait_op_sums *row, const struct gait_op_sums *event)
{
    row->count += event->count;
    row->cpu_us += event->cpu_us;
    row->self_cpu_us += event->self_cpu_us;
    row->device_us += event->device_us;
    row->self_device_us += event->self_device_us;
    row->cpu_bytes = wrap_add(row->cpu_bytes, event->cpu_bytes);
    row->self_cpu_bytes = wrap_add(row->self_cpu_bytes, event->self_cpu_bytes);
    row->device_bytes = wrap_add(row->device_bytes, event->device_bytes);
    row->self_device_bytes = wrap_add(row->self_device_bytes, event->self_device_bytes);
    row->flops_low += event->flops_low;
    row->flops_high += event->flops_high + (row->flops_low < event->flops_low);
}

static struct gait_op_sums empty_row(const struct gait_op_sums *first)
{
    return (struct gait_op_sums){
        .first = first->first, .parent = first->parent, .stack = first->stack};
}

// Events that are one row of a table, added up in the order in which they came.
static int build_rows(struct gait_ops *ops, const struct gait_grouping *grouping)
{
    struct tuple_map keys;
    size_t room = 0;
    int status = GAIT_OK;
    free(ops->rows);
    ops->rows = NULL;
    ops->row_count = 0;
    tuple_map_init(&keys, KEY_WIDTH);
    for (size_t i = 0; !status && i < ops->event_count; i++) {
        const struct gait_op_sums *event = &ops->events[i];
        uint64_t key[KEY_WIDTH];
        uint32_t row = 0;
        make_key(&ops->ops[event->first], event->stack, grouping, key);
        status = tuple_map_add(&keys, key, &row);
        if (!status)
            status = ARRAY_RESERVE(ops->rows, room, keys.count, UINT32_MAX);
        if (status)
            break;
        if (row == ops->row_count)
            ops->rows[ops->row_count++] = empty_row(event);
        add_up(&ops->rows[row], event);
    }
    tuple_map_finish(&keys);
    return status;
}

int gait_ops_create(struct gait_ops **ret_ops)
{
    GAIT_REQUIRE(ret_ops);
    struct gait_ops *ops = calloc(1, sizeof *ops);
    if (!ops)
        return fail(GAIT_ERR_MEMORY, "no memory for a list of ops");
    op_texts_init(&ops->texts);
    tuple_map_init(&ops->stacks, 2);
    *ret_ops = ops;
    return GAIT_OK;
}

void gait_ops_destroy(struct gait_ops *ops)
{
    if (!ops)
        return;
    free(ops->ops);
    free(ops->nodes);
    free(ops->order);
    free(ops->events);
    free(ops->rows);
    op_texts_finish(&ops->texts);
    tuple_map_finish(&ops->stacks);
    free(ops);
}

int gait_ops_add(struct gait_ops *ops, const struct gait_op *added, size_t count)
{
    const struct array_shape shape = {sizeof *ops->ops, OP_NONE - 1};
    if (!ops || (count && !added))
        return fail(GAIT_ERR_ARGUMENT, "ops and added must not be NULL");
    if (ops->nodes)
        return fail(GAIT_ERR_STATE, "the tree of these ops is already built");
    if (count > shape.limit - ops->count)
        return fail(GAIT_ERR_MEMORY, "more than %zu ops", shape.limit);
    int status = array_reserve((void **)&ops->ops, &ops->capacity, ops->count + count, shape);
    if (status)
        return status;
    if (count)
        memcpy(ops->ops + ops->count, added, count * sizeof *added);
    ops->count += count;
    return GAIT_OK;
}

const char *gait_ops_text(const struct gait_ops *ops, uint32_t number)
{
    return ops ? op_texts_get(&ops->texts, number) : NULL;
}

int gait_ops_stack(const struct gait_ops *ops, uint32_t stack, uint32_t *ret_caller,
                   uint32_t *ret_name)
{
    if (!ops || !ret_caller || !ret_name || !stack || stack > ops->stacks.count)
        return 0;
    const size_t at = 2 * (size_t)(stack - 1);
    *ret_caller = (uint32_t)ops->stacks.tuples[at];
    *ret_name = (uint32_t)ops->stacks.tuples[at + 1];
    return 1;
}

const struct gait_op *gait_ops_added(const struct gait_ops *ops, size_t *ret_count)
{
    if (ret_count)
        *ret_count = ops ? ops->count : 0;
    return ops ? ops->ops : NULL;
}

int gait_ops_build(struct gait_ops *ops)
{
    GAIT_REQUIRE(ops);
    if (ops->nodes)
        return fail(GAIT_ERR_STATE, "the tree of these ops is already built");
    int status = op_tree_build(ops);
    return status ? status : op_times_build(ops);
}

const struct gait_op_sums *gait_ops_events(const struct gait_ops *ops, size_t *ret_count)
{
    if (ret_count)
        *ret_count = ops ? ops->event_count : 0;
    return ops && ops->event_count ? ops->events : NULL;
}

int gait_ops_average(struct gait_ops *ops, const struct gait_grouping *grouping,
                     const struct gait_op_sums **ret_rows, size_t *ret_count)
{
    GAIT_REQUIRE(ops);
    GAIT_REQUIRE(grouping);
    GAIT_REQUIRE(ret_rows);
    GAIT_REQUIRE(ret_count);
    if (grouping->size != sizeof *grouping)
        return fail(GAIT_ERR_ARGUMENT, "grouping->size is %zu; it must be sizeof *grouping",
                    grouping->size);
    if (!ops->events)
        return fail(GAIT_ERR_STATE, "the tree of these ops is not built yet");
    int status = build_rows(ops, grouping);
    if (status)
        return status;
    *ret_rows = ops->rows;
    *ret_count = ops->row_count;
    return GAIT_OK;
}
