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

// Weighted by time: gemm has 50 for as long as it ran, which its sum says for each op.
static void look_at_told(struct gait_trace *trace)
{
    struct kernels kernels;
    if (!ok(!kernels_make(&kernels, trace, NULL)) || !is_u64(kernels.count, 3))
        return;
    const struct kernel_sum *reduce = &kernels.rows[0], *gemm = &kernels.rows[1];
    ok(gemm->occupancy == (__int128)50 * KERNEL_PARTS * 80);
    is_u64(gemm->told_ns, 80);
    is_u64(gemm->registers, 128);
    is_u64(gemm->blocks_told_ns, 0);
    is_u64(reduce->told_ns, 0); // no device has that many
    ok(reduce->blocks_per_sm == (__int128)3 * KERNEL_PARTS * 150);
    is_u64(reduce->blocks_told_ns, 150);
    kernels_finish(&kernels);
}

TEST("kernels: what they say of themselves counts as long as they ran")
{
    static const struct literal_arg args[] = {
        {GEMM, "est. achieved occupancy %", NULL, 50},
        {GEMM, "registers per thread", NULL, 128},
        {REDUCE, "est. achieved occupancy %", NULL, 1000000000},
        {REDUCE, "blocks per SM", NULL, 3},
        {0}};
    literal_args = args;
    literal_each_split(sites, rows, look_at_told);
    literal_args = NULL;
}

enum { AGES = 20 };

static void look_at_ages(struct gait_trace *trace)
{
    const unsigned __int128 parts = (unsigned __int128)999999999 * KERNEL_PARTS;
    struct kernels kernels;
    if (!ok(!kernels_make(&kernels, trace, NULL)) || !is_u64(kernels.count, 1))
        return;
    is_u64(kernels.rows->sum_ns, AGES * (uint64_t)(INT64_MAX - 1));
    ok((unsigned __int128)kernels.rows->blocks_per_sm == AGES * parts * (INT64_MAX - 1));
    kernels_finish(&kernels);
}

TEST("kernels: 20 of 292 years, whose weighted sum leaves 128 bits")
{
    static const struct literal_arg args[] = {{GEMM, "blocks per SM", NULL, 999999999}, {0}};
    static struct literal_row ages[AGES + 1];
    for (uint32_t i = 0; i < AGES; i++)
        ages[i] = (struct literal_row){101 + i, GEMM, 0, INT64_MAX - 1, 0, 0, 0};
    literal_args = args;
    literal_each_split(sites, ages, look_at_ages);
    literal_args = NULL;
}
