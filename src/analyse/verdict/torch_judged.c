// SPDX-License-Identifier: Apache-2.0
// Compiling that goes on all the time is no matter of the first steps: then all of
// them are judged.
#include "analyse/verdict/torch_judged.h"

#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"
#include "analyse/steps/hook_facts.h"
#include "analyse/verdict/work_words.h"

enum {
    COMPILES_ON = 3,   // steps after the first one: the last batch of an epoch is smaller,
                       // and an evaluation has a graph of its own
    APART_PERCENT = 5, // of all steps; less makes no difference
};

static const enum work_kind works[TORCH_NAMED] = {
    [TORCH_INPUT] = WORK_INPUT,         [TORCH_COPY] = WORK_COPYING,
    [TORCH_FORWARD] = WORK_COMPUTING,   [TORCH_BACKWARD] = WORK_COMPUTING,
    [TORCH_OPTIMIZER] = WORK_COMPUTING, [TORCH_COMMUNICATION] = WORK_PEERS,
    [TORCH_GC] = WORK_COLLECTING,       [TORCH_COMPILE] = WORK_COMPILING,
    [TORCH_CHECKPOINT] = WORK_SAVING,   [TORCH_EVALUATION] = WORK_EVAL_MODE,
    [TORCH_LOGGING] = WORK_LOGGING,     [TORCH_OTHER] = WORK_UNKNOWN,
};

enum work_kind torch_judged_work(unsigned phase, const char *name)
{
    return phase < TORCH_NAMED ? works[phase] : work_words_kind(name);
}

void torch_judged_put_apart(struct torch_apart *apart, const uint64_t *phases, bool is_first)
{
    for (unsigned i = 0; i < TORCH_MOST_PHASES; i++) {
        apart->phases[i] += phases[i];
        apart->total_ns += phases[i];
    }
    if (is_first)
        apart->first_compile_ns += phases[TORCH_COMPILE];
}

void torch_judged_add(struct torch_judged *judged, const uint64_t *phases)
{
    for (unsigned i = 0; i < TORCH_MOST_PHASES; i++) {
        judged->phases[i] += phases[i];
        judged->total_ns += phases[i];
    }
    judged->steps++;
}

uint64_t torch_judged_compile_before(const struct hook_facts *facts, int64_t at_ns)
{
    int64_t end_ns = INT64_MIN;
    uint64_t sum_ns = 0;
    for (size_t i = 0; i < facts->count && facts->rows[i].start_ns < at_ns; i++) {
        const struct hook_fact *fact = &facts->rows[i];
        if (fact->phase != TORCH_COMPILE || fact->end_ns <= end_ns) // or within the one before
            continue;
        const int64_t from_ns = fact->start_ns > end_ns ? fact->start_ns : end_ns;
        end_ns = fact->end_ns < at_ns ? fact->end_ns : at_ns;
        sum_ns += end_ns > from_ns ? (uint64_t)end_ns - (uint64_t)from_ns : 0;
    }
    return sum_ns;
}

void torch_judged_find(struct torch_report *torch, const struct run_report *report)
{
    struct torch_judged *judged = &torch->judged;
    const uint64_t total_ns = report->ledger.total_ns;
    if (torch->chosen)
        return;
    judged->compiles_on = torch->compile_steps >= COMPILES_ON;
    judged->steps = report->steps.count;
    judged->total_ns = total_ns;
    for (unsigned i = 0; i < TORCH_MOST_PHASES; i++)
        judged->phases[i] = torch->totals[i];
    if (!torch->steady.count || judged->compiles_on || torch->apart.total_ns > total_ns ||
        torch->apart.total_ns < total_ns / 100 * APART_PERCENT)
        return;
    judged->is_steady = true;
    judged->steps = torch->steady.count;
    judged->total_ns = total_ns - torch->apart.total_ns;
    for (unsigned i = 0; i < TORCH_MOST_PHASES; i++)
        judged->phases[i] -= torch->apart.phases[i];
}
