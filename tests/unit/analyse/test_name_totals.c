// SPDX-License-Identifier: Apache-2.0
// Calls and times by name, of ops and of what devices did.
#define _GNU_SOURCE
#include "analyse/compare/name_totals.h"

#include "support/fact_splits.h"

enum { MM = 1, MM_AGAIN, GEMM, STEP, LAUNCH };

static const struct literal_site sites[] = {{"cpu_op", "aten::mm"},
                                            {"Operator", "aten::mm"},
                                            {"kernel", "gemm"},
                                            {"user_annotation", "ProfilerStep#1"},
                                            {"cuda_runtime", "cudaLaunchKernel"},
                                            {0}};

static const struct literal_row rows[] = {{1, STEP, 0, 500, 0, 0, 0},
                                          {1, MM, 10, 100, 0, 1, 0},
                                          {1, MM, 20, 50, 0, 2, 0},
                                          {1, LAUNCH, 30, 40, 1, 3, 0},
                                          {2, MM_AGAIN, 200, 205, 0, 0, 0},
                                          {2, MM_AGAIN, 300, LITERAL_OPEN, 0, 0, 0},
                                          {101, GEMM, 90, 130, 1, 0, 0},
                                          {102, GEMM, 100, 107, 0, 0, 0},
                                          {0}};

static void look(struct gait_trace *trace)
{
    struct name_totals totals;
    struct arena arena;
    arena_init(&arena, 1 << 20);
    if (!ok(!name_totals_make(&totals, trace, &arena)) || !is_u64(totals.count, 2))
        return;
    is_u64(totals.steps, 1);
    is_str(totals.rows[0].name, "aten::mm");
    is_u64(totals.rows[0].calls, 3);
    is_u64(totals.rows[0].total_ns, 90 + 30 + 5);
    is_str(totals.rows[1].name, "gemm");
    is_u64(totals.rows[1].calls, 2);
    is_u64(totals.rows[1].total_ns, 40 + 7);
    arena_finish(&arena);
}

TEST("name totals: sites of one name are one row, what never ended is none")
{
    literal_each_split(sites, rows, look);
}
