// SPDX-License-Identifier: Apache-2.0
#include "analyse/steps/step_pauses.h"

#include <stdbool.h>

#include "analyse/steps/hook_facts.h"
#include "analyse/steps/torch_steps.h"
#include "analyse/time/lower_bound.h"

// What a step is for, or a request for its batch, begins then. Zeroing gradients is neither: where
// a loop has no loader it is the first that gait sees of a step, and windows open within it.
static bool has_work(const struct hook_facts *facts, int64_t since_ns, int64_t until_ns)
{
    if (!facts->count || since_ns >= until_ns)
        return false;
    size_t at = lower_bound(&facts->rows->start_ns, facts->count, sizeof *facts->rows, since_ns);
    while (at < facts->count &&
           (facts->rows[at].kind == TORCH_FACT_PHASE || facts->rows[at].kind == TORCH_FACT_ZERO))
        at++;
    return at < facts->count && facts->rows[at].start_ns < until_ns;
}

static void leave_out(struct torch_step *step, const struct hook_facts *facts,
                      const struct interval *pause)
{
    if (pause->start_ns > step->start_ns && !has_work(facts, pause->end_ns, step->end_ns))
        step->end_ns = pause->start_ns;
    else if (pause->end_ns < step->end_ns && !has_work(facts, step->start_ns, pause->start_ns))
        step->start_ns = pause->end_ns;
}

void step_pauses_leave_out(struct torch_steps *steps, const struct hook_facts *facts)
{
    size_t at = 0;
    for (size_t i = 0; i < facts->pauses.count; i++) {
        const struct interval *pause = &facts->pauses.rows[i];
        while (at < steps->count && steps->rows[at].end_ns <= pause->start_ns)
            at++;
        for (size_t k = at; k < steps->count && steps->rows[k].start_ns < pause->end_ns; k++)
            leave_out(&steps->rows[k], facts, pause);
    }
}
