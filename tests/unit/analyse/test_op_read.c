// SPDX-License-Identifier: Apache-2.0
// The list of all events of rows that are written down: their order, and whose kernels were whose.
#define _GNU_SOURCE
#include <gait/internal/ops.h>

#include "support/fact_splits.h"

enum { LINEAR = 1, MM, ADD, LAUNCH, GEMM, DEVICE };

static const struct literal_site sites[] = {{"cpu_op", "linear"},
                                            {"cpu_op", "mm"},
                                            {"cpu_op", "add"},
                                            {"cuda_runtime", "launch"},
                                            {"kernel", "gemm"},
                                            {"memory", "cuda:0"},
                                            {0}};

// thread 1  |linear-----------------------|                        |mm...
//             |mm----------------------|
//               |launch 1|  |launch 2|
// thread 2      |add--------------------------|
//                                           |mm--------|    it ends behind the one around it
// stream                 |gemm 1---|                      |gemm 2|  |gemm of no call|
// memory          +64                  +8
static const struct literal_row rows[] = {{1, LINEAR, 0, 50000, 0, 0, 0},
                                          {1, MM, 10000, 40000, 0, 1, 0},
                                          {1, LAUNCH, 20000, 25000, 1, 2, 0},
                                          {1, LAUNCH, 30000, 31000, 2, 2, 0},
                                          {1, MM, 90000, LITERAL_OPEN, 0, 0, 0},
                                          {2, ADD, 20000, 60000, 0, 0, 0},
                                          {2, MM, 55000, 65000, 0, 1, 0},
                                          {101, GEMM, 26000, 36000, 1, 0, 0},
                                          {101, GEMM, 70000, 75000, 2, 0, 0},
                                          {101, GEMM, 80000, 81000, 9, 0, 0},
                                          LITERAL_MEMORY(1, DEVICE, 21000, 0xa, 64),
                                          LITERAL_MEMORY(1, DEVICE, 40000, 0xb, 8),
                                          {0}};

struct listed {
    const char *name;
    int64_t thread;
    double start_us, end_us, kernel_us;
    int64_t bytes;
};

static void are_listed(struct gait_trace *trace, int64_t since_ns, int64_t until_ns,
                       const struct listed *wanted, size_t count)
{
    const struct gait_ops_query query = {
        .size = sizeof query, .since_ns = since_ns, .until_ns = until_ns, .with_memory = 1};
    struct gait_ops *ops = NULL;
    size_t made = 0;
    if (!ok(!gait_ops_create(&ops)) || !ok(!gait_ops_read(ops, trace, &query)))
        return;
    const struct gait_op *rows_made = gait_ops_added(ops, &made);
    is_u64(made, count);
    for (size_t i = 0; i < made && i < count; i++) {
        is_str(gait_ops_text(ops, rows_made[i].name), wanted[i].name);
        ok(rows_made[i].start_us == wanted[i].start_us && rows_made[i].end_us == wanted[i].end_us);
        ok(rows_made[i].kernel_us == wanted[i].kernel_us);
        is_int(rows_made[i].device_bytes, wanted[i].bytes);
        if (!(rows_made[i].flags & GAIT_OP_ON_DEVICE))
            is_int(rows_made[i].thread, wanted[i].thread);
    }
    gait_ops_destroy(ops);
}

static void look(struct gait_trace *trace)
{
    static const struct listed all[] = {{"linear", 1, 0, 50, 0, 72}, {"mm", 1, 10, 40, 10 + 5, 72},
                                        {"add", 2, 20, 60, 0, 72},   {"launch", 1, 20, 25, 0, 64},
                                        {"gemm", 0, 26, 36, 0, 0},   {"launch", 1, 30, 31, 0, 0},
                                        {"mm", 2, 55, 65, 0, 0},     {"gemm", 0, 70, 75, 0, 0},
                                        {"gemm", 0, 80, 81, 0, 0},   {"mm", 1, 90, 100, 0, 0}};
    are_listed(trace, 0, 100000, all, 10);
}

TEST("op read: all events by start, the longer first, with the kernels that each launched itself")
{
    literal_each_split(sites, rows, look);
}

// The mm around the calls began before; calls of no op are of the thread of the first op there is.
static void look_at_some(struct gait_trace *trace)
{
    static const struct listed some[] = {{"add", 2, 20, 60, 0, 72},
                                         {"launch", 2, 20, 25, 0, 64},
                                         {"gemm", 0, 26, 36, 0, 0},
                                         {"launch", 2, 30, 31, 0, 0},
                                         {"mm", 2, 55, 65, 0, 0}};
    are_listed(trace, 15000, 70000, some, 5);
}

TEST("op read: of a time, those that begin in it, and no kernel of an op before")
{
    literal_each_split(sites, rows, look_at_some);
}

// In one slice alone: in another one the call is not known yet (docs/decisions/0022-facts.md).
TEST("op read: a kernel that a device's clock puts in front of its call is of its op")
{
    static const struct literal_row early[] = {{1, MM, 0, 100000, 0, 0, 0},
                                               {1, LAUNCH, 50000, 60000, 1, 1, 0},
                                               {101, GEMM, 40000, 45000, 1, 0, 0},
                                               {0}};
    static const struct listed wanted[] = {
        {"mm", 1, 0, 100, 5, 0}, {"gemm", 0, 40, 45, 0, 0}, {"launch", 1, 50, 60, 0, 0}};
    struct literal_rank rank;
    literal_open(&rank, sites, early);
    are_listed(&rank.trace, 0, 100000, wanted, 3);
    literal_close(&rank);
}
