// SPDX-License-Identifier: Apache-2.0
// Spans of 292 years, whose sums leave 64 bits, shown to all who take the rows of a rank. Sums go
// round; a sanitizer tells where they do it in a way that C does not define.
#define _GNU_SOURCE
#include <gait/internal/ops.h>

#include "analyse/compare/name_totals.h"
#include "analyse/device/collectives.h"
#include "analyse/device/device_run.h"
#include "analyse/device/kernels.h"
#include "analyse/device/turns.h"
#include "analyse/memory/memory_life.h"
#include "analyse/modules/module_tree.h"
#include "analyse/path/path_graph.h"
#include "analyse/report/run_report.h"
#include "support/fact_splits.h"

enum { STEP = 1, FORWARD, NET, LINEAR, LAUNCH, GEMM, REDUCE, COPY, DEVICE, NUMBERED };

static const struct literal_site sites[] = {
    {"step", ""},
    {"phase", "forward"},
    {"python_function", "nn.Module: Net_0"},
    {"cpu_op", "linear"},
    {"cuda_runtime", "cudaLaunchKernel"},
    {"kernel", "gemm"},
    {"kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"},
    {"gpu_memcpy", "copy"},
    {"memory", "cuda:0"},
    {"user_annotation", "ProfilerStep#1"},
    {0}};

// thread 1  |a step, a phase, a module, an op...
//             |call 1|   memory, 2^62 bytes, four times
// thread 2  |the same module and op...
// streams      |gemm 1 three times|all-reduce three times|copy...      all to the end of time
#define END (INT64_MAX - 1)
static const struct literal_row rows[] = {{1, STEP, 0, END, 1, 0, 0},
                                          {1, NUMBERED, 0, END, 0, 0, 0},
                                          {1, FORWARD, 0, END, 0, 1, 0},
                                          {1, NET, 1, END, 0, 2, 0},
                                          {1, LINEAR, 2, END, 0, 3, 0},
                                          {1, LAUNCH, 20, 30, 1, 4, 0},
                                          {2, NET, 1, END, 0, 0, 0},
                                          {2, LINEAR, 2, END, 0, 1, 0},
                                          {3, NET, 1, END, 0, 0, 0},
                                          {3, LINEAR, 2, END, 0, 1, 0},
                                          {101, GEMM, 100, END, 1, 0, 0},
                                          {102, GEMM, 100, END, 1, 0, 0},
                                          {103, GEMM, 100, END, 1, 0, 0},
                                          {104, REDUCE, 100, END, 1, 0, 0},
                                          {105, REDUCE, 100, END, 1, 0, 0},
                                          {106, REDUCE, 100, END, 1, 0, 0},
                                          {107, COPY, 100, END, 1, 0, 0},
                                          LITERAL_MEMORY(1, DEVICE, 40, 0xa, INT64_MAX / 2),
                                          LITERAL_MEMORY(1, DEVICE, 50, 0xb, INT64_MAX / 2),
                                          LITERAL_MEMORY(1, DEVICE, 60, 0xc, INT64_MAX / 2),
                                          LITERAL_MEMORY(1, DEVICE, 70, 0xd, INT64_MAX / 2),
                                          {0}};

#define THREE(ns) (3 * (uint64_t)(ns))

static void look_at_sums(struct gait_trace *trace)
{
    struct name_totals totals;
    struct kernels kernels;
    struct collectives found;
    struct arena arena;
    arena_init(&arena, 1 << 20);
    if (ok(!name_totals_make(&totals, trace, &arena)))
        for (size_t i = 0; i < totals.count; i++)
            if (strcmp(totals.rows[i].name, "linear") == 0)
                is_u64(totals.rows[i].total_ns, THREE(END - 2));
    arena_finish(&arena);
    if (ok(!kernels_make(&kernels, trace, NULL)))
        is_u64(kernels.rows[0].sum_ns, THREE(END - 100));
    kernels_finish(&kernels);
    if (ok(!collectives_make(&found, trace, NULL)) && is_u64(found.count, 1))
        is_u64(found.sums[0].device_ns, THREE(END - 100));
    collectives_finish(&found);
}

TEST("ages: sums by name, of kernels and of collectives")
{
    literal_each_split(sites, rows, look_at_sums);
}

static void look_at_devices(struct gait_trace *trace)
{
    struct device_run run;
    struct turns turns;
    if (ok(!device_run_make(&run, trace, NULL)) && is_u64(run.count, 1))
        is_u64(run.ranks[0].whole.span_ns, END - 100);
    device_run_finish(&run);
    if (ok(!turns_make(&turns, trace, NULL)) && is_u64(turns.count, 1))
        is_u64(turns.ranks[0].total_ns, END);
    turns_finish(&turns);
}

TEST("ages: breakdown and turns")
{
    literal_each_split(sites, rows, look_at_devices);
}

static void look_at_modules(struct gait_trace *trace)
{
    const struct module_wish wish = {.visit = NULL};
    struct module_tree tree;
    if (!ok(!module_tree_make(&tree, trace, &wish)) || !is_u64(tree.count, 2))
        return;
    is_u64(tree.nodes[1].ns[MODULE_FORWARD], THREE(END - 1));
    is_u64(tree.nodes[1].device_ns[MODULE_FORWARD], 7 * (uint64_t)(END - 100));
    module_tree_finish(&tree);
}

TEST("ages: modules")
{
    literal_each_split(sites, rows, look_at_modules);
}

static void look_at_memory(struct gait_trace *trace)
{
    struct memory_life life;
    if (ok(!memory_life_make(&life, trace, NULL)) && is_u64(life.device_count, 1))
        is_u64(life.devices[0].kept_bytes, 4 * (uint64_t)(INT64_MAX / 2));
    memory_life_finish(&life);
}

TEST("ages: bytes that leave 64 bits")
{
    literal_each_split(sites, rows, look_at_memory);
}

// Times beyond DAG_MOST_NS are of no path: what is left is the call.
static void look_at_paths(struct gait_trace *trace)
{
    struct path_scales scales = {.count = 0};
    struct path_graph graph;
    if (!ok(!path_graph_make(&graph, trace, &scales)) || !is_u64(graph.marks.step_count, 1))
        return;
    is_int(graph.marks.steps[0].start_ns, 20);
    is_int(graph.marks.steps[0].end_ns, 30);
    path_graph_finish(&graph);
}

TEST("ages: paths")
{
    literal_each_split(sites, rows, look_at_paths);
}

static void look_at_ops(struct gait_trace *trace)
{
    const struct gait_ops_query query = {
        .size = sizeof query, .until_ns = INT64_MAX, .with_memory = 1, .with_stacks = 1};
    struct gait_ops *ops = NULL;
    size_t count;
    if (!ok(!gait_ops_create(&ops)) || !ok(!gait_ops_read(ops, trace, &query)) ||
        !ok(!gait_ops_build(ops)))
        return;
    gait_ops_events(ops, &count);
    is_u64(count, 15); // but for the marked step, and the phase
    gait_ops_destroy(ops);
}

TEST("ages: the list of all events")
{
    literal_each_split(sites, rows, look_at_ops);
}

// It holds the walk through ops, the ledgers and the verdict.
static void look_at_report(struct gait_trace *trace)
{
    struct run_report report;
    if (!ok(!run_report_make(&report, trace)))
        return;
    is_u64(report.ledger.total_ns, END);
    run_report_finish(&report);
}

TEST("ages: a report")
{
    literal_each_split(sites, rows, look_at_report);
}
