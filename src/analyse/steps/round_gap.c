// SPDX-License-Identifier: Apache-2.0
#include "analyse/steps/round_gap.h"

#include "analyse/ledger/torch_phases.h"
#include "analyse/steps/hook_facts.h"
#include "analyse/steps/torch_loops.h"
#include "analyse/time/intervals.h"

void round_gap_init(struct round_gap *gap, const struct torch_loops *loops,
                    const struct intervals *evaluation)
{
    *gap = (struct round_gap){
        .loops = loops, .evaluation = evaluation, .free_ns = INT64_MIN, .work_ns = INT64_MAX};
}

void round_gap_restart(struct round_gap *gap)
{
    gap->work_ns = INT64_MAX;
    gap->is_cut = gap->is_learning = false;
}

bool round_gap_is_free(const struct round_gap *gap, const struct hook_fact *fact)
{
    return fact->start_ns >= gap->free_ns;
}

static void cut(struct round_gap *gap, int64_t until_ns)
{
    gap->free_ns = until_ns > gap->free_ns ? until_ns : gap->free_ns;
    if (gap->is_learning)
        return;
    gap->is_cut = true;
    gap->work_ns = INT64_MAX;
}

static bool is_of_other_loop(const struct round_gap *gap, const struct hook_fact *fact)
{
    bool is_request = fact->kind == TORCH_FACT_ASK || fact->kind == TORCH_FACT_EMPTY;
    return is_request && fact->id != TORCH_NO_LOOP && !gap->loops->loops[fact->id].trains;
}

static bool is_work(const struct hook_fact *fact)
{
    return fact->kind == TORCH_FACT_FORWARD || fact->kind == TORCH_FACT_BACKWARD ||
           fact->kind == TORCH_FACT_ZERO;
}

void round_gap_take(struct round_gap *gap, const struct hook_fact *fact)
{
    const struct intervals *evaluation = gap->evaluation;
    while (gap->period < evaluation->count &&
           evaluation->rows[gap->period].start_ns <= fact->start_ns)
        cut(gap, evaluation->rows[gap->period++].end_ns);
    bool is_save = fact->kind == TORCH_FACT_PHASE && fact->phase == TORCH_CHECKPOINT;
    if (is_save || is_of_other_loop(gap, fact))
        cut(gap, fact->end_ns);
    if (!is_work(fact) || !round_gap_is_free(gap, fact))
        return;
    if (gap->work_ns == INT64_MAX)
        gap->work_ns = fact->start_ns;
    gap->is_learning |= fact->kind == TORCH_FACT_BACKWARD;
}
