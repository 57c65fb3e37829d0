// SPDX-License-Identifier: Apache-2.0
// Sums of kernels by name and launching op.
#define _GNU_SOURCE
#include "analyse/device/kernels.h"

#include "support/fact_splits.h"

enum { GEMM = 1, REDUCE, COPY, LAUNCH, MM, ADD };

static const struct literal_site sites[] = {
    {"kernel", "gemm"},
    {"kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"},
    {"gpu_memcpy", "Memcpy HtoD"},
    {"cuda_runtime", "cudaLaunchKernel"},
    {"cpu_op", "aten::mm"},
    {"cpu_op", "aten::add"},
    {0}};

// thread  |mm: call 1|   |add: call 2, call 3|    |call 4, of no op
// stream             |gemm 1|  |gemm 2|  |gemm 3|   |all-reduce 4|  |all-reduce|  |copy|  |gemm...
static const struct literal_row rows[] = {{1, MM, 0, 100, 0, 0, 0},
                                          {1, LAUNCH, 20, 30, 1, 1, 0},
                                          {1, ADD, 200, 300, 0, 0, 0},
                                          {1, LAUNCH, 210, 220, 2, 1, 0},
                                          {1, LAUNCH, 230, 240, 3, 1, 0},
                                          {1, LAUNCH, 400, 410, 4, 0, 0},
                                          {101, GEMM, 110, 150, 1, 0, 0},
                                          {101, GEMM, 250, 270, 2, 0, 0},
                                          {101, GEMM, 280, 340, 3, 0, 0},
                                          {101, REDUCE, 420, 520, 4, 0, 0},
                                          {101, REDUCE, 600, 650, 0, 0, 0},
                                          {101, COPY, 700, 710, 0, 0, 0},
                                          {101, GEMM, 800, LITERAL_OPEN, 0, 0, 0},
                                          {0}};

struct sum {
    uint32_t site, op;
    uint64_t count, sum_ns, least_ns, most_ns;
};

static void look(struct gait_trace *trace)
{
    static const struct sum wanted[] = {{REDUCE, GAIT_NO_SITE, 2, 150, 50, 100},
                                        {GEMM, ADD, 2, 80, 20, 60},
                                        {GEMM, MM, 1, 40, 40, 40}};
    struct kernels kernels;
    if (!ok(!kernels_make(&kernels, trace, NULL)) || !is_u64(kernels.count, 3))
        return;
    for (int i = 0; i < 3; i++) {
        const struct kernel_sum *row = &kernels.rows[i];
        is_u64(row->site, wanted[i].site);
        is_u64(row->op, wanted[i].op);
        is_u64(row->count, wanted[i].count);
        is_u64(row->sum_ns, wanted[i].sum_ns);
        is_u64(row->least_ns, wanted[i].least_ns);
        is_u64(row->most_ns, wanted[i].most_ns);
    }
    kernels_finish(&kernels);
}

TEST("kernels: by name and the op that launched them, the longest first")
{
    literal_each_split(sites, rows, look);
}
