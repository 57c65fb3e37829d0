// SPDX-License-Identifier: Apache-2.0
#include "analyse/steps/steps.h"
#include "support/tap.h"

#define ROW(rank_, number_, start_, length_)                                                       \
    {.rank = (rank_),                                                                              \
     .number = (number_),                                                                          \
     .start_ns = (start_),                                                                         \
     .duration_ns = (length_),                                                                     \
     .track = (rank_)}
#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])

TEST("steps: ranks make the same steps, and the slowest counts")
{
    struct step_row rows[] = {ROW(0, 1, 0, 10), ROW(0, 2, 10, 10), ROW(1, 1, 0, 30),
                              ROW(1, 2, 30, 5)};
    uint32_t ranks;
    is_u64(steps_merge(rows, COUNT(rows), &ranks), 2);
    is_u64(ranks, 2);
    is_int(rows[0].duration_ns, 30);
    is_u64(rows[0].rank, 1);
    is_int(rows[1].duration_ns, 10);
    is_u64(rows[1].rank, 0);
}

TEST("steps: numbers that begin anew each epoch are steps of their own")
{
    struct step_row rows[] = {ROW(0, 0, 0, 1),  ROW(0, 1, 10, 2), ROW(0, 0, 20, 3),
                              ROW(0, 1, 30, 4), ROW(1, 0, 0, 5),  ROW(1, 1, 10, 1),
                              ROW(1, 0, 20, 1), ROW(1, 1, 30, 1)};
    uint32_t ranks;
    is_u64(steps_merge(rows, COUNT(rows), &ranks), 4);
    int64_t total = 0;
    for (int i = 0; i < 4; i++)
        total += rows[i].duration_ns;
    is_int(total, 5 + 2 + 3 + 4);
}

TEST("steps: one found twice, as in a snapshot, counts once")
{
    struct step_row rows[] = {ROW(0, 7, 100, 4), ROW(0, 7, 100, 9), ROW(0, 7, 200, 1)};
    uint32_t ranks;
    is_u64(steps_merge(rows, COUNT(rows), &ranks), 2);
    is_int(rows[0].duration_ns, 9);
    is_int(rows[1].duration_ns, 1);
}

TEST("steps: percentiles are durations that occurred")
{
    struct step_row rows[100];
    int64_t sorted[100];
    for (int i = 0; i < 100; i++)
        rows[i] = (struct step_row)ROW(0, (uint64_t)i, i, 100 - i);
    struct steps_summary summary = steps_summarise(rows, 100, sorted);
    is_int(summary.p50_ns, 50);
    is_int(summary.p95_ns, 95);
    is_int(summary.p99_ns, 99);
    is_int(summary.max_ns, 100);
    is_u64(summary.slowest, 0);
    is_int(summary.total_ns, 5050);
}

TEST("steps: one step is its own percentile, none have none")
{
    struct step_row rows[] = {ROW(0, 5, 0, 42)};
    int64_t sorted[1];
    struct steps_summary one = steps_summarise(rows, 1, sorted);
    is_int(one.p50_ns, 42);
    is_int(one.p99_ns, 42);
    is_u64(one.slowest, 5);
    struct steps_summary none = steps_summarise(NULL, 0, NULL);
    is_u64(none.count, 0);
    is_int(none.total_ns, 0);
}

TEST("steps: lengths that no clock can show do not overflow")
{
    struct step_row rows[] = {ROW(0, 0, 0, INT64_MAX), ROW(0, 1, 0, INT64_MAX)};
    int64_t sorted[2];
    is_int(steps_summarise(rows, 2, sorted).total_ns, INT64_MAX);
}

TEST("steps: of ranks that are known to wait for each other, the one with most work counts")
{
    struct step_row rows[] = {
        {.number = 7, .rank = 0, .duration_ns = 105, .work_ns = 40},
        {.number = 7, .rank = 1, .duration_ns = 100, .work_ns = 95},
        {.number = 8, .rank = 0, .duration_ns = 50, .work_ns = 50},
        {.number = 8, .rank = 1, .duration_ns = 60, .work_ns = 50},
    };
    uint32_t ranks;

    is_u64(steps_merge(rows, 4, &ranks), 2);
    is_u64(rows[0].rank, 1);
    is_int(rows[0].duration_ns, 100);
    is_u64(rows[1].rank, 1);
}
