// SPDX-License-Identifier: Apache-2.0
// Ranks are compared by what a step costs them on average, so that one that
// made fewer steps is not taken for the quickest.
#include "analyse/job/torch_slow.h"

#include <stdlib.h>

#include "analyse/report/torch_report.h"

enum {
    FEW_STEPS = 5,
    LEAST_PERCENT = 2, // of a step; less is how machines differ
    MOST_RANKS = 4096,
};

static uint64_t a_step(const struct torch_rank *rank, unsigned phase)
{
    return rank->steps ? rank->phases[phase] / rank->steps : 0;
}

static uint64_t work_a_step(const struct torch_rank *rank)
{
    return rank->steps ? (rank->total_ns - rank->phases[TORCH_COMMUNICATION]) / rank->steps : 0;
}

static int by_value(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

// The middle one of the other ranks, the lower of two.
static uint64_t middle_of_others(const struct torch_report *torch, const struct torch_rank *one,
                                 unsigned phase)
{
    uint64_t values[MOST_RANKS];
    size_t count = 0;
    for (size_t i = 0; i < torch->rank_count && count < MOST_RANKS; i++) {
        const struct torch_rank *rank = &torch->ranks[i];
        if (rank != one)
            values[count++] = phase < TORCH_MOST_PHASES ? a_step(rank, phase) : work_a_step(rank);
    }
    if (!count)
        return 0;
    qsort(values, count, sizeof *values, by_value);
    return values[(count - 1) / 2];
}

static uint64_t excess(uint64_t value, uint64_t usual)
{
    return value > usual ? value - usual : 0;
}

void torch_slow_find(struct torch_report *torch)
{
    const struct torch_rank *slowest = torch->ranks;
    unsigned phase = 0;
    uint64_t most = 0;
    if (torch->rank_count < 2)
        return;
    for (size_t i = 0; i < torch->rank_count; i++) {
        if (torch->ranks[i].steps < FEW_STEPS || torch->ranks[i].rank < 0)
            return;
        if (work_a_step(&torch->ranks[i]) > work_a_step(slowest))
            slowest = &torch->ranks[i];
    }
    for (unsigned i = 0; i < torch->phases.count; i++) {
        uint64_t more = excess(a_step(slowest, i), middle_of_others(torch, slowest, i));
        if (i == TORCH_COMMUNICATION || more <= most)
            continue;
        most = more;
        phase = i;
    }
    uint64_t step_ns = slowest->total_ns / slowest->steps;
    uint64_t all =
        excess(work_a_step(slowest), middle_of_others(torch, slowest, TORCH_MOST_PHASES));
    if (all * 100 < step_ns * LEAST_PERCENT || most * 100 < step_ns * LEAST_PERCENT || !most)
        return;
    torch->slow = (struct torch_slow){.is_known = true,
                                      .rank = slowest->rank,
                                      .phase = phase,
                                      .steps = slowest->steps,
                                      .ns = most * slowest->steps};
}
