// SPDX-License-Identifier: Apache-2.0
// Exact: everything is sorted, nothing estimated. A million steps are 40 MB
// and a fraction of a second.
#include "analyse/steps/steps.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"

enum { FAR_FROM = 10, FAR_PART = 20, MOST_FAR = 5 };

static int by_rank_number_start(const void *left, const void *right)
{
    const struct step_row *a = left, *b = right;
    RETURN_IF_APART(a->rank, b->rank);
    RETURN_IF_APART(a->number, b->number);
    RETURN_IF_APART(a->start_ns, b->start_ns);
    RETURN_IF_APART(b->duration_ns, a->duration_ns); // a snapshot may hold it unfinished
    return 0;
}

static int by_step_slowest_first(const void *left, const void *right)
{
    const struct step_row *a = left, *b = right;
    RETURN_IF_APART(a->number, b->number);
    RETURN_IF_APART(a->occurrence, b->occurrence);
    RETURN_IF_APART(b->work_ns, a->work_ns);
    RETURN_IF_APART(b->duration_ns, a->duration_ns);
    RETURN_IF_APART(a->rank, b->rank);
    return 0;
}

static bool is_same_step(const struct step_row *a, const struct step_row *b)
{
    return a->rank == b->rank && a->number == b->number;
}

// Drops duplicates and numbers the occurrences within each rank.
static size_t number_occurrences(struct step_row *rows, size_t count)
{
    size_t kept = 0;
    qsort(rows, count, sizeof *rows, by_rank_number_start);
    for (size_t i = 0; i < count; i++) {
        const struct step_row *before = kept ? &rows[kept - 1] : NULL;
        bool again = before && is_same_step(before, &rows[i]);
        if (again && before->start_ns == rows[i].start_ns)
            continue;
        rows[i].occurrence = again ? before->occurrence + 1 : 0;
        rows[kept++] = rows[i];
    }
    return kept;
}

static uint32_t count_ranks(const struct step_row *sorted, size_t count)
{
    uint32_t ranks = 0;
    for (size_t i = 0; i < count; i++)
        ranks += !i || sorted[i - 1].rank != sorted[i].rank;
    return ranks;
}

size_t steps_merge(struct step_row *rows, size_t count, uint32_t *ret_ranks)
{
    *ret_ranks = 0;
    if (!count)
        return 0;
    count = number_occurrences(rows, count);
    *ret_ranks = count_ranks(rows, count);
    qsort(rows, count, sizeof *rows, by_step_slowest_first);
    size_t kept = 1;
    for (size_t i = 1; i < count; i++) {
        const struct step_row *last = &rows[kept - 1];
        if (last->number != rows[i].number || last->occurrence != rows[i].occurrence)
            rows[kept++] = rows[i];
    }
    return kept;
}

static int by_value(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    RETURN_IF_APART(*a, *b);
    return 0;
}

// The smallest value that at least `percent` of all do not exceed.
static int64_t nearest_rank(const int64_t *sorted, size_t count, unsigned percent)
{
    return sorted[(count * percent + 99) / 100 - 1];
}

// Whether a few steps are what makes a run slow.
static void add_far(struct steps_summary *summary, const int64_t *sorted)
{
    const uint64_t part = (summary->count + FAR_PART - 1) / FAR_PART;
    if (summary->count < FAR_FROM)
        return;
    summary->far = part < MOST_FAR ? part : MOST_FAR;
    for (uint64_t i = 0; i < summary->far; i++) {
        const int64_t beyond_ns = sorted[summary->count - 1 - i] - summary->p50_ns;
        if (__builtin_add_overflow(summary->far_ns, beyond_ns, &summary->far_ns))
            summary->far_ns = INT64_MAX;
    }
}

struct steps_summary steps_summarise(const struct step_row *rows, size_t count, int64_t *ret_sorted)
{
    struct steps_summary summary = {.count = count};
    const struct step_row *slowest = rows;
    if (!count)
        return summary;
    for (size_t i = 0; i < count; i++) {
        ret_sorted[i] = rows[i].duration_ns;
        if (__builtin_add_overflow(summary.total_ns, rows[i].duration_ns, &summary.total_ns))
            summary.total_ns = INT64_MAX; // only a lying file gets here
        if (rows[i].duration_ns > slowest->duration_ns)
            slowest = &rows[i];
    }
    qsort(ret_sorted, count, sizeof *ret_sorted, by_value);
    summary.least_ns = ret_sorted[0];
    summary.p50_ns = nearest_rank(ret_sorted, count, 50);
    summary.p95_ns = nearest_rank(ret_sorted, count, 95);
    summary.p99_ns = nearest_rank(ret_sorted, count, 99);
    summary.max_ns = ret_sorted[count - 1];
    summary.slowest = slowest->number;
    add_far(&summary, ret_sorted);
    return summary;
}
