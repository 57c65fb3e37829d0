// SPDX-License-Identifier: Apache-2.0
// Trees and rows by hand; tests/torch compares random ones with torch's own.
#include <gait/internal/ops.h>

#include "analyse/ops/op_launches.h"
#include "support/tap.h"

static struct gait_op op_at(double start_us, double end_us, uint32_t name)
{
    return (struct gait_op){
        .start_us = start_us, .end_us = end_us, .name = name, .key = name, .seq = -1};
}

static struct gait_ops *tree_of(const struct gait_op *added, size_t count)
{
    struct gait_ops *ops = NULL;
    ok(!gait_ops_create(&ops) && !gait_ops_add(ops, added, count) && !gait_ops_build(ops));
    return ops;
}

TEST("ops: children are inside, and what they had is not their parent's own")
{
    const struct gait_op added[] = {op_at(0, 100, 1), op_at(10, 30, 2), op_at(20, 30, 3),
                                    op_at(90, 110, 4), op_at(40, 50, 2)};
    struct gait_ops *ops = tree_of(added, 5);
    size_t count;
    const struct gait_op_sums *events = gait_ops_events(ops, &count);
    is_u64(count, 5);
    ok(events[0].self_cpu_us == 70 && events[0].parent == GAIT_OP_NO_PARENT);
    ok(events[1].self_cpu_us == 10 && events[1].parent == 0);
    ok(events[2].parent == 1 && events[3].parent == GAIT_OP_NO_PARENT && events[4].parent == 0);
    gait_ops_destroy(ops);
}

TEST("ops: an only child of its parent's name is its parent, and passes on what it called")
{
    const struct gait_op added[] = {op_at(0, 100, 1), op_at(10, 90, 1), op_at(20, 30, 2)};
    struct gait_ops *ops = tree_of(added, 3);
    size_t count;
    const struct gait_op_sums *events = gait_ops_events(ops, &count);
    is_u64(count, 2);
    ok(events[0].self_cpu_us == 90 && events[1].first == 2 && events[1].parent == 0);
    gait_ops_destroy(ops);
}

TEST("ops: what a backward calls has the stack of its forward, found by number and thread")
{
    struct gait_op added[] = {op_at(0, 10, 1),  op_at(20, 30, 2), op_at(40, 60, 3),
                              op_at(45, 50, 4), op_at(70, 80, 5), op_at(90, 95, 6)};
    for (int i = 0; i < 2; i++) { // two forwards
        added[i].seq = i;
        added[i].stack = 7 + (uint32_t)i;
    }
    added[2].seq = 1; // the backward of the second one
    added[2].flags = GAIT_OP_BACKWARD;
    added[4].seq = 9; // of one that is not on record
    added[4].flags = GAIT_OP_BACKWARD;
    added[5].stack = 3;
    struct gait_ops *ops = tree_of(added, 6);
    size_t count;
    const struct gait_op_sums *events = gait_ops_events(ops, &count);
    static const uint32_t stacks[] = {7, 8, 8, 8, 0, 3};
    is_u64(count, 6);
    for (size_t i = 0; i < count; i++)
        is_u64(events[i].stack, stacks[i]);
    gait_ops_destroy(ops);
}

TEST("ops: rows stand in the order of their first events; FLOPs may pass 64 bits")
{
    struct gait_op added[4];
    for (int i = 0; i < 4; i++) {
        added[i] = op_at(i * 10, i * 10 + 5, i % 2 ? 1 : 2);
        added[i].flops = INT64_MAX;
        added[i].shapes = i < 2 ? 0 : 7;
    }
    struct gait_ops *ops = tree_of(added, 4);
    struct gait_grouping grouping = {.size = sizeof grouping};
    const struct gait_op_sums *rows = NULL;
    size_t count = 0;
    ok(!gait_ops_average(ops, &grouping, &rows, &count));
    is_u64(count, 2);
    is_u64(rows[0].first, 0);
    is_u64(rows[0].count, 2);
    ok(rows[0].cpu_us == 10 && rows[0].flops_high == 0);
    is_u64(rows[0].flops_low, UINT64_MAX - 1);
    grouping.by_shapes = 1;
    ok(!gait_ops_average(ops, &grouping, &rows, &count));
    is_u64(count, 4);
    gait_ops_destroy(ops);
}

TEST("ops: an asynchronous event, one of a device and one of another node are nobody's children")
{
    struct gait_op added[] = {op_at(0, 100, 1), op_at(10, 20, 2), op_at(30, 40, 3),
                              op_at(50, 60, 4)};
    added[1].flags = GAIT_OP_ASYNC;
    added[2].flags = GAIT_OP_ON_DEVICE | GAIT_OP_HAS_DEVICE;
    added[3].node = 1;
    struct gait_ops *ops = tree_of(added, 4);
    size_t count;
    const struct gait_op_sums *events = gait_ops_events(ops, &count);
    ok(events[0].self_cpu_us == 100);
    ok(events[1].cpu_us == 10 && events[1].self_cpu_us == 0);
    ok(events[2].cpu_us == 0 && events[2].self_device_us == 10);
    ok(events[3].parent == GAIT_OP_NO_PARENT);
    gait_ops_destroy(ops);
}

TEST("ops: calls out of turn are refused")
{
    struct gait_ops *ops = NULL;
    const struct gait_op added = op_at(0, 1, 1);
    const struct gait_op_sums *rows;
    struct gait_grouping grouping = {.size = sizeof grouping};
    size_t count;
    is_int(gait_ops_create(NULL), GAIT_ERR_ARGUMENT);
    ok(!gait_ops_create(&ops));
    is_int(gait_ops_average(ops, &grouping, &rows, &count), GAIT_ERR_STATE);
    ok(!gait_ops_events(ops, &count) && count == 0);
    ok(!gait_ops_build(ops)); // of nothing
    is_int(gait_ops_add(ops, &added, 1), GAIT_ERR_STATE);
    is_int(gait_ops_build(ops), GAIT_ERR_STATE);
    ok(!gait_ops_average(ops, &grouping, &rows, &count) && count == 0);
    grouping.size--;
    is_int(gait_ops_average(ops, &grouping, &rows, &count), GAIT_ERR_ARGUMENT);
    gait_ops_destroy(ops);
    gait_ops_destroy(NULL);
}

TEST("ops: a call that was made before the window has no op there, nor has one of another rank")
{
    struct op_launches launches = {.count = 7};
    const struct launch seen = {.start_ns = 20, .thread = 2, .number = 5}, unseen = {.number = 6};
    ok(!op_launches_begin_rank(&launches));
    ok(!op_launches_open(&launches, 2, 10, 30) && !op_launches_call(&launches, &seen));
    is_u64(op_launches_by(&launches, &seen), 7);
    is_u64(op_launches_by(&launches, &unseen), OP_LAUNCHED_BY_NONE);
    ok(!op_launches_begin_rank(&launches));
    is_u64(op_launches_by(&launches, &seen), OP_LAUNCHED_BY_NONE);
    ok(!op_launches_call(&launches, &seen)); // that op is none of this rank's
    is_u64(op_launches_by(&launches, &seen), OP_LAUNCHED_BY_NONE);
    op_launches_finish(&launches);
}
