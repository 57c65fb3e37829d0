// SPDX-License-Identifier: Apache-2.0
// Sums of doubles depend on the order in which they are made: here children come
// in order of start and are summed up before they are taken off, as whoever made
// the tables that people have did it.
#include "analyse/ops/op_times.h"

#include <stdlib.h>

#include "analyse/ops/op_list.h"
#include "analyse/ops/tuple_map.h"
#include "analyse/time/wrap_add.h"
#include "base/fail.h"

// Of all events by their own index, before those that are gone are left out.
static void set_total(const struct gait_op *op, struct gait_op_sums *sums)
{
    const double length = op->end_us - op->start_us;
    sums->count = 1;
    sums->cpu_us = op->flags & GAIT_OP_ON_DEVICE ? 0 : length;
    sums->cpu_bytes = op->cpu_bytes;
    sums->device_bytes = op->device_bytes;
    sums->flops_low = (uint64_t)op->flops;
    sums->flops_high = op->flops < 0 ? -1 : 0;
    if (!(op->flags & GAIT_OP_ASYNC) && op->flags & GAIT_OP_HAS_DEVICE &&
        op->flags & GAIT_OP_ON_DEVICE)
        sums->device_us = sums->self_device_us = length;
}

static void add_children(const struct gait_ops *ops, uint32_t index, struct gait_op_sums *all)
{
    const struct gait_op *op = &ops->ops[index];
    struct gait_op_sums *sums = &all[index];
    double cpu_us = 0, device_us = 0;
    int64_t cpu_bytes = 0, device_bytes = 0;
    for (uint32_t i = ops->nodes[index].first_child; i != OP_NONE; i = ops->nodes[i].next) {
        cpu_us += all[i].cpu_us;
        device_us += all[i].device_us;
        cpu_bytes = wrap_add(cpu_bytes, all[i].cpu_bytes);
        device_bytes = wrap_add(device_bytes, all[i].device_bytes);
    }
    sums->self_cpu_us = sums->cpu_us - cpu_us;
    sums->self_cpu_bytes = wrap_subtract(sums->cpu_bytes, cpu_bytes);
    sums->self_device_bytes = wrap_subtract(sums->device_bytes, device_bytes);
    if (op->flags & GAIT_OP_HAS_DEVICE) {
        sums->device_us = op->flags & GAIT_OP_LEGACY ? op->kernel_us : op->kernel_us + device_us;
        sums->self_device_us = sums->device_us - device_us;
    }
}

// --- stacks -------------------------------------------------------------------------

// The innermost node of the backward pass that each event is in, or is.
static void find_backwards(const struct gait_ops *ops, uint32_t *backward)
{
    for (size_t i = 0; i < ops->count; i++)
        backward[i] = ops->ops[i].flags & GAIT_OP_BACKWARD ? (uint32_t)i : OP_NONE;
    for (size_t i = 0; i < ops->ordered; i++) {
        const uint32_t index = ops->order[i], parent = ops->nodes[index].parent;
        if (!ops->nodes[index].is_gone && backward[index] == OP_NONE && parent != OP_NONE)
            backward[index] = backward[parent];
    }
}

// A backward was called from where its forward was: the first event of the same
// number on the forward's thread.
static int set_stacks(const struct gait_ops *ops, struct gait_op_sums *all, uint32_t *backward)
{
    struct tuple_map forwards;
    uint32_t *first = calloc(ops->count + 1, sizeof *first);
    int status = first ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for stacks");
    tuple_map_init(&forwards, 2);
    for (size_t i = 0; !status && i < ops->count; i++) {
        const struct gait_op *op = &ops->ops[i];
        const uint64_t key[2] = {(uint64_t)op->seq, (uint64_t)op->thread};
        const size_t known = forwards.count;
        uint32_t found;
        if (ops->nodes[i].is_gone || backward[i] != OP_NONE || op->stack == GAIT_OP_NO_STACK)
            continue;
        status = tuple_map_add(&forwards, key, &found);
        if (!status && forwards.count > known)
            first[found] = op->stack;
    }
    for (size_t i = 0; !status && i < ops->count; i++) {
        all[i].stack = ops->ops[i].stack;
        if (backward[i] == OP_NONE)
            continue;
        const struct gait_op *node = &ops->ops[backward[i]];
        const uint64_t key[2] = {(uint64_t)node->seq, (uint64_t)node->fwd_thread};
        const uint32_t found = tuple_map_find(&forwards, key);
        all[i].stack = found == TUPLE_NONE ? 0 : first[found];
    }
    tuple_map_finish(&forwards);
    free(first);
    return status;
}

// --- all ----------------------------------------------------------------------------

static void keep_those_left(struct gait_ops *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        if (ops->nodes[i].is_gone)
            continue;
        ops->events[i].first = (uint32_t)i;
        ops->events[i].parent = ops->nodes[i].parent;
        ops->events[ops->event_count++] = ops->events[i];
    }
}

int op_times_build(struct gait_ops *ops)
{
    uint32_t *backward = malloc((ops->count + 1) * sizeof *backward);
    ops->events = calloc(ops->count + 1, sizeof *ops->events);
    if (!backward || !ops->events) {
        free(backward);
        return fail(GAIT_ERR_MEMORY, "no memory for the times of %zu ops", ops->count);
    }
    for (size_t i = 0; i < ops->count; i++)
        set_total(&ops->ops[i], &ops->events[i]);
    for (size_t i = ops->ordered; i > 0; i--) { // callees before callers
        if (!ops->nodes[ops->order[i - 1]].is_gone)
            add_children(ops, ops->order[i - 1], ops->events);
    }
    find_backwards(ops, backward);
    int status = set_stacks(ops, ops->events, backward);
    free(backward);
    if (!status)
        keep_those_left(ops);
    return status;
}
