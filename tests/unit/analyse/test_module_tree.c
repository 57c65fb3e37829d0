// SPDX-License-Identifier: Apache-2.0
// Modules from rows that are written down: their times, and whose work devices did.
#define _GNU_SOURCE
#include "analyse/modules/module_tree.h"

#include "support/fact_splits.h"

enum { NET = 1, LINEAR, MM, RANGE, BACKWARD, LAUNCH, GEMM, REDUCE, STEP };

static const struct literal_site sites[] = {
    {"python_function", "nn.Module: Net_0"},
    {"python_function", "nn.Module: Linear_0"},
    {"cpu_op", "aten::mm"},
    {"user_annotation", "my range"},
    {"cpu_op", "torch::autograd::AccumulateGrad"},
    {"cuda_runtime", "cudaLaunchKernel"},
    {"kernel", "gemm"},
    {"kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"},
    {"user_annotation", "ProfilerStep#3"},
    {0}};

// thread  |step-------------------------------------------------------------------------|
//          |Net------------------------------------------|   |mm|    |AccumulateGrad|
//            |Linear---------|     |range: call 2|              call 4     call 3
//              |mm: call 1|
// stream                    |gemm 1|          |gemm 2|             |gemm 4|       |nccl 3|
static const struct literal_row rows[] = {
    {1, STEP, 0, 1000, 0, 0, 0},      {1, NET, 10, 500, 0, 1, 0},
    {1, LINEAR, 20, 200, 0, 2, 0},    {1, MM, 30, 100, 0, 3, 0},
    {1, LAUNCH, 40, 50, 1, 4, 0},     {1, RANGE, 300, 400, 0, 2, 0},
    {1, LAUNCH, 310, 320, 2, 3, 0},   {1, MM, 600, 700, 0, 1, 0},
    {1, LAUNCH, 610, 620, 4, 2, 0},   {1, BACKWARD, 800, 900, 0, 1, 0},
    {1, LAUNCH, 810, 820, 3, 2, 0},   {101, GEMM, 150, 157, 1, 0, 0},
    {101, GEMM, 350, 361, 2, 0, 0},   {101, GEMM, 650, 663, 4, 0, 0},
    {101, REDUCE, 850, 867, 3, 0, 0}, {0}};

struct seen {
    unsigned ops, kernels;
    uint32_t mark; // of the kernel
};

// Each op is marked by its place in the order.
static int see(struct module_op *op, void *context)
{
    struct seen *seen = context;
    if (op->is_kernel) {
        seen->kernels++;
        seen->mark = op->mark;
    } else {
        op->mark = ++seen->ops;
    }
    return 0;
}

static void look(struct gait_trace *trace)
{
    struct seen seen = {.ops = 0};
    const struct module_wish wish = {.visit = see, .context = &seen};
    struct module_tree tree;
    if (!ok(!module_tree_make(&tree, trace, &wish)) || !is_u64(tree.count, 3))
        return;
    const struct module_node *nowhere = &tree.nodes[0], *net = &tree.nodes[1],
                             *linear = &tree.nodes[2];
    is_str(net->name, "Net_0");
    is_str(linear->kind, "Linear");
    is_u64(linear->parent, 1);
    is_u64(net->ns[MODULE_FORWARD], 490);
    is_u64(net->inside_ns, 180);
    is_u64(linear->device_ns[MODULE_FORWARD], 7);
    is_u64(net->device_ns[MODULE_FORWARD], 11);
    is_u64(nowhere->device_ns[MODULE_FORWARD], 13);
    is_u64(nowhere->device_ns[MODULE_BACKWARD], 17);
    is_u64(nowhere->ns[MODULE_BACKWARD], 100);
    is_u64(tree.step_ns, 1000);
    is_u64(seen.ops, 4);
    is_u64(seen.kernels, 1);
    is_u64(seen.mark, 4);
    module_tree_finish(&tree);
}

TEST("modules: work of devices is of the module around the op or range that called it")
{
    literal_each_split(sites, rows, look);
}

// The second linear begins as the first one ends, and is in net as far as its begin tells; net of
// the other thread never ended: it has no time, and is around what comes then.
static void look_at_ends(struct gait_trace *trace)
{
    const struct module_wish wish = {.visit = NULL};
    struct module_tree tree;
    if (!ok(!module_tree_make(&tree, trace, &wish)) || !is_u64(tree.count, 3))
        return;
    const struct module_node *net = &tree.nodes[1], *linear = &tree.nodes[2];
    is_str(net->name, "Net_0");
    is_u64(net->calls[MODULE_FORWARD], 2);
    is_u64(net->ns[MODULE_FORWARD], 100);
    is_u64(net->inside_ns, 40 + 70 + 20);
    is_u64(linear->parent, 1);
    is_u64(linear->calls[MODULE_FORWARD], 3);
    is_u64(linear->ns[MODULE_FORWARD], 40 + 70 + 20);
    is_u64(linear->device_ns[MODULE_FORWARD], 5);
    is_u64(net->device_ns[MODULE_FORWARD], 0);
    module_tree_finish(&tree);
}

TEST("modules: those that meet, that end behind the one around them, and that never ended")
{
    // thread 1  |Net-----------------------|
    //             |Linear---|Linear-------------|
    //                        |mm: call 1|
    // thread 2                                    |Net...
    //                                               |Linear|
    // stream                                  |gemm 1|
    static const struct literal_row ends[] = {{1, NET, 0, 100, 0, 0, 0},
                                              {1, LINEAR, 10, 50, 0, 1, 0},
                                              {1, LINEAR, 50, 120, 0, 1, 0},
                                              {1, MM, 50, 80, 0, 2, 0},
                                              {1, LAUNCH, 50, 60, 1, 3, 0},
                                              {2, NET, 200, LITERAL_OPEN, 0, 0, 0},
                                              {2, LINEAR, 210, 230, 0, 1, 0},
                                              {101, GEMM, 190, 195, 1, 0, 0},
                                              {0}};
    literal_each_split(sites, ends, look_at_ends);
}
