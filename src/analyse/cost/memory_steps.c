// SPDX-License-Identifier: Apache-2.0
#include "analyse/cost/memory_steps.h"

#include <stdlib.h>

#include "analyse/job/torch_ranks.h"
#include "base/array.h"

enum {
    FEWEST_STEPS = 3, // on record together: one alone has nothing to be compared with
    MOST_SEEN = BLOCKS_MOST_POINTS,
    SPIKE_PERCENT = 150,
    SPIKE_BYTES = 64 << 20, // of less nobody runs out
};

// The step that lasts at that time; NULL: none does.
static const struct step_row *step_at(const struct rank_steps *steps, int64_t at_ns)
{
    size_t low = 0, high = (size_t)steps->rank.steps;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (steps->rows[middle].start_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    const struct step_row *row = low ? &steps->rows[low - 1] : NULL;
    return row && at_ns - row->start_ns <= row->duration_ns ? row : NULL;
}

static void name_growth(struct memory_growth *growth, const struct rank_steps *steps)
{
    const struct step_row *first = step_at(steps, growth->start_ns);
    const struct step_row *last = step_at(steps, growth->end_ns);
    growth->has_steps = first && last;
    if (!growth->has_steps)
        return;
    growth->first_step = first->number;
    growth->last_step = last->number;
}

static int by_bytes(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    RETURN_IF_APART(*a, *b);
    return 0;
}

// The most that each step of the window held, in bytes[]; the number of the one with the peak.
static size_t most_of_steps(const struct op_allocations *blocks, const struct rank_steps *steps,
                            int64_t bytes[MOST_SEEN], const struct step_row **ret_peak)
{
    const struct step_row *before = NULL;
    size_t count = 0;
    for (size_t i = 0; i < blocks->curve_count; i++) {
        const struct blocks_point *point = &blocks->curve[i];
        const struct step_row *step = step_at(steps, point->at_ns);
        if (!step)
            continue;
        if (step != before)
            bytes[count++] = 0;
        before = step;
        bytes[count - 1] = point->bytes > bytes[count - 1] ? point->bytes : bytes[count - 1];
        if (point->at_ns == blocks->peak_ns)
            *ret_peak = step;
    }
    return count;
}

static void find_spike(struct torch_report *torch, const struct rank_steps *steps)
{
    const struct op_allocations *blocks = &torch->blocks;
    const struct step_row *peak = NULL;
    int64_t bytes[MOST_SEEN];
    const size_t count = most_of_steps(blocks, steps, bytes, &peak);
    if (!peak || count < FEWEST_STEPS)
        return;
    qsort(bytes, count, sizeof *bytes, by_bytes);
    const int64_t usual = bytes[(count - 1) / 2];
    if (usual <= 0 || blocks->peak_bytes < usual + SPIKE_BYTES ||
        blocks->peak_bytes / SPIKE_PERCENT < usual / 100)
        return;
    const struct blocks_owner *op = blocks->ops.count ? &blocks->ops.rows[0] : NULL;
    torch->vitals.spike = (struct memory_spike){.step = peak->number,
                                                .bytes = (uint64_t)blocks->peak_bytes,
                                                .usual_bytes = (uint64_t)usual,
                                                .op = op ? op->name : NULL,
                                                .op_bytes = op ? op->peak_bytes : 0};
}

void memory_steps_find(struct torch_report *torch, const struct torch_ranks *ranks)
{
    struct memory_growth *growth = &torch->vitals.growth;
    for (size_t i = 0; torch->rank_count && i < ranks->count; i++) {
        const struct rank_steps *steps = &ranks->rows[i];
        if (growth->is_known && !growth->has_steps && steps->rank.track == growth->track)
            name_growth(growth, steps);
        if (torch->survey.shard_of[steps->rank.track] == torch->memory.shard && steps->rank.steps)
            find_spike(torch, steps);
    }
}
