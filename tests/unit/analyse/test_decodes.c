// SPDX-License-Identifier: Apache-2.0
// A question about another tool's trace decodes each frame once: steps, phases, threads that
// launch and devices come of one reading.
#define _GNU_SOURCE
#include "analyse/device/collectives.h"
#include "analyse/device/device_run.h"
#include "analyse/device/kernels.h"
#include "analyse/modules/module_tree.h"
#include "analyse/report/run_report.h"
#include "support/fact_literals.h"
#include "support/frame_decodes.h"
#include "support/tap.h"

enum { KERNEL = 1, COMM, LAUNCH, OP, STEP, NEXT_STEP, LOADER };

static const struct literal_site sites[] = {
    {"kernel", "k"},
    {"kernel", "ncclKernel"},
    {"cuda_runtime", "cudaLaunchKernel"},
    {"cpu_op", "aten::mm"},
    {"user_annotation", "ProfilerStep#3"},
    {"user_annotation", "ProfilerStep#4"},
    {"user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"},
    {0}};

// step     |3------------|4-------------|   the second one in a frame of its own
// host     |loader|op----|op------------|
//                  call 1   call 2
// device               |k 1---| |k 2| |nccl|
// thread 2 |op---------------------|        in two frames; it launches nothing
static const struct literal_row rows[] = {{1, STEP, 1000, 2000, 0, 0, 0},
                                          {1, LOADER, 1000, 1200, 0, 1, 0},
                                          {1, OP, 1300, 1900, 0, 1, 0},
                                          {1, LAUNCH, 1400, 1450, 1, 2, 0},
                                          {1, NEXT_STEP, 2000, 3000, 0, 0, 1},
                                          {1, OP, 2100, 2900, 0, 1, 1},
                                          {1, LAUNCH, 2200, 2250, 2, 2, 1},
                                          {2, OP, 1000, 2000, 0, 0, 0},
                                          {2, OP, 2000, 2800, 0, 0, 1},
                                          {101, KERNEL, 1500, 2100, 1, 0, 0},
                                          {101, KERNEL, 2300, 2500, 2, 0, 1},
                                          {101, COMM, 2600, 2800, 0, 0, 1},
                                          {0}};

static void begin(struct literal_rank *rank)
{
    literal_open_as(rank, sites, rows, "{}");
}

static void was_read_once(struct literal_rank *rank)
{
    is_u64(most_decodes(&rank->trace), 1);
    literal_close(rank);
}

static void phases_are_told(const struct recorded_steps *recorded)
{
    uint64_t ns = 0, input_ns = 0;
    for (size_t i = 0; i < recorded->phase_count; i++) {
        ns += recorded->phases[i].ns;
        input_ns += strcmp(recorded->phases[i].name, "input") ? 0 : recorded->phases[i].ns;
    }
    is_u64(input_ns, 200);
    is_u64(ns, 2000); // both steps
}

TEST("decodes: steps and their phases, with devices and without")
{
    struct literal_rank rank;
    struct turns turns;
    struct device_run run;
    begin(&rank);
    ok(!turns_make(&turns, &rank.trace, NULL) && turns.count == 1);
    is_u64(turns.ranks[0].steps, 2);
    phases_are_told(&turns.recorded);
    turns_finish(&turns);
    was_read_once(&rank);
    begin(&rank);
    ok(!device_run_make(&run, &rank.trace, NULL) && run.count == 1);
    phases_are_told(&run.turns.recorded);
    device_run_finish(&run);
    was_read_once(&rank);
}

TEST("decodes: kernels, collectives, modules")
{
    const struct module_wish wish = {.shard = 0};
    struct literal_rank rank;
    struct kernels kernels;
    struct collectives collectives;
    struct module_tree tree;
    begin(&rank);
    ok(!kernels_make(&kernels, &rank.trace, NULL) && kernels.count == 2);
    kernels_finish(&kernels);
    was_read_once(&rank);
    begin(&rank);
    ok(!collectives_make(&collectives, &rank.trace, NULL) && collectives.count == 1);
    collectives_finish(&collectives);
    was_read_once(&rank);
    begin(&rank);
    ok(!module_tree_make(&tree, &rank.trace, &wish));
    module_tree_finish(&tree);
    was_read_once(&rank);
}

TEST("decodes: a report reads once, and the ops of its first rank once more")
{
    struct literal_rank rank;
    struct run_report report;
    begin(&rank);
    ok(!run_report_make(&report, &rank.trace));
    is_u64(report.devices.count, 1);
    run_report_finish(&report);
    is_u64(most_decodes(&rank.trace), 2);
    literal_close(&rank);
}
