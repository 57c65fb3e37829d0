// SPDX-License-Identifier: Apache-2.0
// What eval() says is checked against what was done: a period with a round (an
// optimizer's step) was training (a GAN freezes one half while the other learns,
// a script never calls train() again), at least from the batch on that led there.
#include "analyse/steps/torch_evaluation.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/ledger/torch_phases.h"
#include "analyse/steps/hook_facts.h"
#include "analyse/steps/torch_loops.h"
#include "analyse/time/intervals.h"
#include "analyse/time/lower_bound.h"
#include "base/array.h"
#include "base/fail.h"

struct evaluation {
    struct intervals *periods;
    const struct hook_facts *facts;
    const struct torch_loops *loops;
    bool *trained; // of an id: a module that ran in training mode
};

// The first fact that starts at that time or later.
static size_t fact_at(const struct hook_facts *facts, int64_t at_ns)
{
    const struct hook_fact *rows = facts->rows;
    return facts->count ? lower_bound(&rows->start_ns, facts->count, sizeof *rows, at_ns) : 0;
}

static bool is_request(const struct hook_fact *fact)
{
    return fact->kind == TORCH_FACT_MAKE || fact->kind == TORCH_FACT_ASK;
}

static bool feeds_training(const struct torch_loops *loops, const struct hook_fact *fact)
{
    return is_request(fact) && fact->id != TORCH_NO_LOOP && loops->loops[fact->id].has_steps;
}

// Where a period that an optimizer stepped in ends instead: where its loop was
// first asked. `from` again, if no batch was asked for within.
static size_t end_before_step(const struct evaluation *evaluation, size_t from, size_t step)
{
    const struct hook_fact *rows = evaluation->facts->rows;
    size_t request = step;
    while (request > from && rows[request - 1].kind != TORCH_FACT_ASK)
        request--;
    if (request == from)
        return from;
    uint32_t loop = rows[request - 1].id;
    for (size_t i = from; i < step; i++)
        if (is_request(&rows[i]) && rows[i].id == loop)
            return i;
    return from;
}

// The first request of the training after the last work of the period: train()
// is often called only once the batch is there.
static size_t end_before_training(const struct evaluation *evaluation, size_t from, size_t behind)
{
    size_t end = behind;
    for (size_t i = behind; i > from; i--) {
        const struct hook_fact *fact = &evaluation->facts->rows[i - 1];
        if (feeds_training(evaluation->loops, fact))
            end = i - 1;
        else if (fact->kind == TORCH_FACT_FORWARD || fact->kind == TORCH_FACT_BACKWARD)
            break;
    }
    return end;
}

static bool runs_trained(const struct evaluation *evaluation, size_t from, size_t behind)
{
    for (size_t i = from; i < behind; i++) {
        const struct hook_fact *fact = &evaluation->facts->rows[i];
        if (fact->kind == TORCH_FACT_FORWARD && !fact->is_training && fact->id != TORCH_NO_ID &&
            evaluation->trained[fact->id])
            return true;
    }
    return false;
}

// A loss that is a module around the model stays in training mode while the model inside is asked:
// it runs, and nothing learns.
static bool runs_without_learning(const struct evaluation *evaluation, size_t from, size_t behind)
{
    bool runs = false;
    for (size_t i = from; i < behind; i++) {
        const struct hook_fact *fact = &evaluation->facts->rows[i];
        if (fact->kind == TORCH_FACT_BACKWARD)
            return false;
        runs = runs || (fact->kind == TORCH_FACT_FORWARD && fact->id != TORCH_NO_ID &&
                        evaluation->trained[fact->id]);
    }
    return runs;
}

// The end of the last thing that was done in that time as a part of evaluating.
static int64_t last_done_ns(const struct hook_facts *facts, size_t from, int64_t start_ns)
{
    int64_t end_ns = start_ns;
    for (size_t i = from; i < facts->count; i++)
        if (!torch_phases_outlasts(facts->rows[i].phase) && facts->rows[i].end_ns > end_ns)
            end_ns = facts->rows[i].end_ns;
    return end_ns < facts->end_ns ? end_ns : facts->end_ns;
}

static int add_mode(struct evaluation *evaluation, const struct torch_mode *mode, int64_t end_ns)
{
    const struct hook_facts *facts = evaluation->facts;
    const bool is_ended = end_ns <= facts->end_ns; // else the script was over before
    size_t from = fact_at(facts, mode->start_ns), behind = from;
    end_ns = is_ended ? end_ns : facts->end_ns;
    while (behind < facts->count && facts->rows[behind].start_ns < end_ns &&
           !facts->rows[behind].is_round)
        behind++;
    bool is_cut = behind < facts->count && facts->rows[behind].start_ns < end_ns;
    size_t end = is_cut ? end_before_step(evaluation, from, behind)
                        : end_before_training(evaluation, from, behind);
    if (is_cut && end == from)
        return GAIT_OK;
    if (end < behind)
        end_ns = facts->rows[end].start_ns;
    else if (!is_ended) // what follows its last work may be anything
        end_ns = last_done_ns(facts, from, mode->start_ns);
    if (!evaluation->trained[mode->id] && !runs_trained(evaluation, from, end) &&
        !runs_without_learning(evaluation, from, end))
        return GAIT_OK;
    return intervals_add(evaluation->periods, mode->start_ns, end_ns);
}

ARRAY_BY2(by_id_start, struct torch_mode, id, start_ns)

// Of one module, a period ends with the next one at the latest, and the last one with
// the script: nobody calls train() while the interpreter is taken down.
static int add_modes(struct evaluation *evaluation)
{
    size_t count = evaluation->facts->mode_count;
    struct torch_mode *modes = malloc((count + 1) * sizeof *modes);
    int status = GAIT_OK;
    if (!modes)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu periods of evaluation", count);
    if (count) {
        memcpy(modes, evaluation->facts->modes, count * sizeof *modes);
        qsort(modes, count, sizeof *modes, by_id_start);
    }
    for (size_t i = 0; !status && i < count; i++) {
        int64_t end_ns = modes[i].end_ns;
        bool has_next = i + 1 < count && modes[i + 1].id == modes[i].id;
        if (has_next && modes[i + 1].start_ns < end_ns)
            end_ns = modes[i + 1].start_ns;
        status = add_mode(evaluation, &modes[i], end_ns);
    }
    free(modes);
    return status;
}

// A forward in eval mode that no eval() accounts for. Of a module that never
// trains (a teacher, averaged weights) it counts only on batches that nobody
// trains on, once the training has begun.
static bool begins_evaluation(const struct evaluation *evaluation, const struct hook_fact *fact,
                              bool is_on_other_batch)
{
    if (fact->kind != TORCH_FACT_FORWARD || fact->is_training || fact->id == TORCH_NO_ID)
        return false;
    return evaluation->trained[fact->id] || is_on_other_batch;
}

static bool trains_on(const struct hook_fact *evaluated, const struct hook_fact *fact)
{
    return fact->kind == TORCH_FACT_FORWARD && fact->is_training && fact->id == evaluated->id;
}

static int add_forwards(struct evaluation *evaluation)
{
    const struct hook_facts *facts = evaluation->facts;
    const struct intervals known = *evaluation->periods;
    const struct hook_fact *open = NULL;
    struct intervals found = {.count = 0};
    bool has_stepped = false, is_on_other_batch = false;
    int status = GAIT_OK;
    for (size_t i = 0; !status && i < facts->count; i++) {
        const struct hook_fact *fact = &facts->rows[i];
        bool goes_on = feeds_training(evaluation->loops, fact) || (open && trains_on(open, fact));
        if (is_request(fact))
            is_on_other_batch = has_stepped && !feeds_training(evaluation->loops, fact);
        if (open && goes_on)
            status = intervals_add(&found, open->start_ns, fact->start_ns);
        if (goes_on || fact->is_round)
            open = NULL;
        else if (!open && begins_evaluation(evaluation, fact, is_on_other_batch) &&
                 !intervals_cover(&known, fact->start_ns))
            open = fact;
        has_stepped |= fact->is_round;
    }
    if (!status && open)
        status = intervals_add(&found, open->start_ns,
                               last_done_ns(facts, (size_t)(open - facts->rows), 0));
    for (size_t i = 0; !status && i < found.count; i++)
        status = intervals_add(evaluation->periods, found.rows[i].start_ns, found.rows[i].end_ns);
    intervals_finish(&found);
    return status;
}

int torch_evaluation_find(struct intervals *periods, const struct hook_facts *facts,
                          const struct torch_loops *loops)
{
    struct evaluation evaluation = {.periods = periods, .facts = facts, .loops = loops};
    evaluation.trained = calloc((size_t)facts->id_count + 1, sizeof *evaluation.trained);
    if (!evaluation.trained)
        return fail(GAIT_ERR_MEMORY, "no memory for %u modules", facts->id_count);
    for (size_t i = 0; i < facts->count; i++)
        if (facts->rows[i].kind == TORCH_FACT_FORWARD && facts->rows[i].id != TORCH_NO_ID)
            evaluation.trained[facts->rows[i].id] |= facts->rows[i].is_training;
    int status = add_modes(&evaluation);
    intervals_join(periods);
    if (!status)
        status = add_forwards(&evaluation);
    intervals_join(periods);
    free(evaluation.trained);
    return status;
}
