// SPDX-License-Identifier: Apache-2.0
// One pass over the events in the order in which they were added.
#include "analyse/ops/op_groups.h"

#include <stdlib.h>

#include "analyse/ops/op_list.h"
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

static void add(struct gait_op_sums *row, const struct gait_op_sums *event)
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

int op_groups_build(struct gait_ops *ops, const struct gait_grouping *grouping)
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
        add(&ops->rows[row], event);
    }
    tuple_map_finish(&keys);
    return status;
}
