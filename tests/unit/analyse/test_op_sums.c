// SPDX-License-Identifier: Apache-2.0
// Sums of ops: what they called, what they launched, and one that is told twice.
#define _GNU_SOURCE
#include "analyse/ops/op_sums.h"

#include "support/fact_splits.h"

enum { LINEAR = 1, MM, LAUNCH, GEMM, LEFT, RIGHT };

static const struct literal_site sites[] = {{"cpu_op", "aten::linear"},
                                            {"cpu_op", "aten::mm"},
                                            {"cuda_runtime", "cudaLaunchKernel"},
                                            {"kernel", "gemm"},
                                            {"cpu_op", "left"},
                                            {"cpu_op", "right"},
                                            {0}};

// thread 1  |linear                     |    |mm: call 3|    |call 4, of no op|
//             |linear: it is told twice|
//               |mm: call 1, call 2|
// thread 2                                                        |mm                  |
//                                                                   |left   |
//                                                                       |right   |right, of no time
//                                                                                   |left...
// stream                                  |gemm 1| |gemm 2| |gemm 3| |gemm 4|
static const struct literal_row rows[] = {{1, LINEAR, 0, 100, 0, 0, 0},
                                          {1, LINEAR, 10, 90, 0, 1, 0},
                                          {1, MM, 20, 60, 0, 2, 0},
                                          {1, LAUNCH, 30, 40, 1, 3, 0},
                                          {1, LAUNCH, 50, 55, 2, 3, 0},
                                          {1, MM, 110, 130, 0, 0, 0},
                                          {1, LAUNCH, 112, 115, 3, 1, 0},
                                          {1, LAUNCH, 400, 410, 4, 0, 0},
                                          {2, MM, 500, 600, 0, 0, 0},
                                          {2, LEFT, 510, 560, 0, 1, 0},
                                          {2, RIGHT, 540, 590, 0, 1, 0},
                                          {101, GEMM, 120, 150, 1, 0, 0},
                                          {101, GEMM, 200, 240, 2, 0, 0},
                                          {101, GEMM, 300, 310, 3, 0, 0},
                                          {101, GEMM, 420, 425, 4, 0, 0},
                                          {2, RIGHT, 590, 590, 0, 1, 0},
                                          {2, LEFT, 700, LITERAL_OPEN, 0, 0, 0},
                                          {0}};

struct sum {
    const char *name;
    uint64_t count, total_ns, self_ns, device_ns, self_device_ns;
};

static void is_sum(const struct gait_ops *ops, const struct gait_op_sums *row,
                   const struct sum *wanted)
{
    size_t count;
    is_str(gait_ops_text(ops, gait_ops_added(ops, &count)[row->first].name), wanted->name);
    is_u64(row->count, wanted->count);
    is_u64((uint64_t)(row->cpu_us * 1000 + 0.5), wanted->total_ns);
    is_u64((uint64_t)(row->self_cpu_us * 1000 + 0.5), wanted->self_ns);
    is_u64((uint64_t)(row->device_us * 1000 + 0.5), wanted->device_ns);
    is_u64((uint64_t)(row->self_device_us * 1000 + 0.5), wanted->self_device_ns);
}

static void are_sums(struct gait_trace *trace, const struct op_sums_wish *wish,
                     const struct sum *wanted, size_t count)
{
    const struct gait_op_sums *made;
    struct gait_ops *ops = NULL;
    size_t made_count;
    if (!ok(!gait_ops_create(&ops)) || !ok(!op_sums_make(ops, trace, wish, &made, &made_count)) ||
        !is_u64(made_count, count))
        return;
    for (size_t i = 0; i < count; i++)
        is_sum(ops, &made[i], &wanted[i]);
    gait_ops_destroy(ops);
}

// What never ended lasts to the end of its window; what begins when another ends is not in it.
static void look(struct gait_trace *trace)
{
    static const struct torch_window all = {.begin_ns = 0, .end_ns = 1000};
    static const struct op_sums_wish wish = {.windows = &all, .window_count = 1};
    static const struct sum wanted[] = {
        {"aten::linear", 1, 100, 60, 70, 0},   {"aten::mm", 3, 160, 62, 80, 80},
        {"cudaLaunchKernel", 4, 28, 28, 0, 0}, {"gemm", 4, 0, 0, 85, 85},
        {"left", 2, 50 + 300, 50 + 300, 0, 0}, {"right", 2, 50, 50, 0, 0},
    };
    are_sums(trace, &wish, wanted, 6);
}

TEST("op sums: own time is what no child covers, and device time is of all around the launch")
{
    literal_each_split(sites, rows, look);
}

// The first one begins in no window, so what it launched has no op; the newest window comes first.
static void look_at_windows(struct gait_trace *trace)
{
    static const struct torch_window windows[] = {{.begin_ns = 105, .end_ns = 250},
                                                  {.begin_ns = 410, .end_ns = 550}};
    static const struct op_sums_wish wish = {.windows = windows, .window_count = 2};
    static const struct sum wanted[] = {
        {"gemm", 3, 0, 0, 75, 75},  {"aten::mm", 2, 120, 37, 0, 0},      {"left", 1, 50, 50, 0, 0},
        {"right", 1, 50, 50, 0, 0}, {"cudaLaunchKernel", 1, 3, 3, 0, 0},
    };
    are_sums(trace, &wish, wanted, 5);
}

TEST("op sums: what begins in no window is not there, for whoever it called neither")
{
    literal_each_split(sites, rows, look_at_windows);
}

// --- more than a table shows ----------------------------------------------------------------

enum { NESTED = 200 };

static void look_at_nested(struct gait_trace *trace)
{
    static const struct torch_window all = {.begin_ns = 0, .end_ns = 10000};
    static const struct op_sums_wish wish = {.windows = &all, .window_count = 1};
    static const struct sum wanted[] = {{"aten::mm", 1, 1000, 990, 100, 100},
                                        {"cudaLaunchKernel", 1, 10, 10, 0, 0},
                                        {"gemm", 1, 0, 0, 100, 100}};
    are_sums(trace, &wish, wanted, 3);
}

TEST("op sums: 200 of one name in each other are one op, whose call and kernel count once")
{
    // thread 1  |mm-------------------------------|
    //            |mm-----------------------------|
    //              ... 200 of them ...
    //                      |call 1|
    // stream                                           |gemm 1|
    static struct literal_row nested[NESTED + 3];
    for (int i = 0; i < NESTED; i++)
        nested[i] = (struct literal_row){1, MM, i, 1000 - i, 0, (uint32_t)i, 0};
    nested[NESTED] = (struct literal_row){1, LAUNCH, 300, 310, 1, NESTED, 0};
    nested[NESTED + 1] = (struct literal_row){101, GEMM, 2000, 2100, 1, 0, 0};
    literal_each_split(sites, nested, look_at_nested);
}

// Sums of 64 bits go round: three times 2^63 - 102 is 2^63 - 306 beyond 2^64. Rows are linear, mm,
// the call, gemm.
static void look_at_ages(struct gait_trace *trace)
{
    static const struct torch_window all = {.begin_ns = 0, .end_ns = INT64_MAX};
    static const struct op_sums_wish wish = {.windows = &all, .window_count = 1};
    const double device_us = (double)(INT64_MAX - 305) / 1000;
    const struct gait_op_sums *made;
    struct gait_ops *ops = NULL;
    size_t count;
    if (!ok(!gait_ops_create(&ops)) || !ok(!op_sums_make(ops, trace, &wish, &made, &count)) ||
        !is_u64(count, 4))
        return;
    ok(made[0].device_us == device_us && made[0].self_device_us == 0);
    ok(made[1].device_us == device_us && made[1].self_device_us == device_us);
    ok(made[2].device_us == 0 && made[2].cpu_us == 0.01);
    ok(made[3].device_us == device_us && made[3].count == 3);
    gait_ops_destroy(ops);
}

TEST("op sums: times of 292 years, of ops and of what they launched")
{
    // thread 1  |linear--------------------------------------------...
    //             |mm----------------------------------------------...
    //               |call 1|
    // streams                |gemm 1-------------------------------...   three of them
    static const struct literal_row rows_of_ages[] = {{1, LINEAR, 0, INT64_MAX - 1, 0, 0, 0},
                                                      {1, MM, 10, INT64_MAX - 1, 0, 1, 0},
                                                      {1, LAUNCH, 20, 30, 1, 2, 0},
                                                      {101, GEMM, 100, INT64_MAX - 1, 1, 0, 0},
                                                      {102, GEMM, 100, INT64_MAX - 1, 1, 0, 0},
                                                      {103, GEMM, 100, INT64_MAX - 1, 1, 0, 0},
                                                      {0}};
    literal_each_split(sites, rows_of_ages, look_at_ages);
}
