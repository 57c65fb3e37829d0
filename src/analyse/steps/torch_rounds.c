// SPDX-License-Identifier: Apache-2.0
// The first kind that occurs at all makes the rounds.
#include "analyse/steps/torch_rounds.h"

#include "analyse/steps/hook_facts.h"
#include "analyse/time/intervals.h"

enum {
    MOST_MODULES = 64, // root modules told apart; inference has a handful
    LEAST_FORWARDS = 2 // one alone repeats nothing
};

// When a model first ran or learned. An optimizer that steps before that makes its
// state (distributed checkpoints do so, with gradients of zero), and no step.
static int64_t first_work_ns(const struct hook_facts *facts)
{
    for (size_t i = 0; i < facts->count; i++) {
        const struct hook_fact *fact = &facts->rows[i];
        if (fact->kind == TORCH_FACT_FORWARD || fact->kind == TORCH_FACT_BACKWARD)
            return fact->start_ns;
    }
    return INT64_MIN; // none is on record
}

static bool is_step(const struct hook_fact *fact, const void *context)
{
    const int64_t *since_ns = context;
    return fact->kind == TORCH_FACT_STEP && fact->end_ns > *since_ns;
}

static bool is_learning(const struct hook_fact *fact, const void *context)
{
    return fact->kind == TORCH_FACT_BACKWARD && !intervals_cover(context, fact->start_ns);
}

static bool is_forward_of(const struct hook_fact *fact, const void *context)
{
    const uint32_t *module = context;
    return fact->kind == TORCH_FACT_FORWARD && fact->id == *module;
}

typedef bool is_round_fact(const struct hook_fact *fact, const void *context);

static size_t mark(struct hook_facts *facts, is_round_fact *is_round, const void *context)
{
    size_t count = 0;
    for (size_t i = 0; i < facts->count; i++) {
        struct hook_fact *fact = &facts->rows[i];
        fact->is_round = is_round(fact, context);
        count += fact->is_round;
        if (fact->is_round && fact->kind != TORCH_FACT_STEP)
            fact->next_step = TORCH_NO_STEP; // only optimizers are told apart
    }
    return count;
}

// The root module that runs most often; of equal ones the first.
static size_t find_main_module(const struct hook_facts *facts, uint32_t *ret_module)
{
    uint32_t modules[MOST_MODULES];
    size_t counts[MOST_MODULES], used = 0, most = 0;
    for (size_t i = 0; i < facts->count; i++) {
        const struct hook_fact *fact = &facts->rows[i];
        size_t at = 0;
        if (fact->kind != TORCH_FACT_FORWARD)
            continue;
        while (at < used && modules[at] != fact->id)
            at++;
        if (at == MOST_MODULES)
            continue;
        if (at == used) {
            modules[used] = fact->id;
            counts[used++] = 0;
        }
        counts[at]++;
    }
    for (size_t i = 1; i < used; i++)
        most = counts[i] > counts[most] ? i : most;
    if (!used)
        return 0;
    *ret_module = modules[most];
    return counts[most];
}

// A model that runs in training mode and then goes backward learns, whatever eval() was
// called for before (a part of it that only counted its features).
static void mark_surely_learning(struct hook_facts *facts)
{
    bool is_training = false;
    for (size_t i = 0; i < facts->count; i++) {
        struct hook_fact *fact = &facts->rows[i];
        if (fact->kind == TORCH_FACT_FORWARD)
            is_training = fact->is_training;
        fact->is_round = is_training && fact->kind == TORCH_FACT_BACKWARD;
    }
}

enum torch_rounds torch_rounds_mark(struct hook_facts *facts, const struct intervals *evaluation)
{
    uint32_t module = TORCH_NO_ID;
    const int64_t since_ns = first_work_ns(facts);
    if (mark(facts, is_step, &since_ns))
        return TORCH_ROUNDS_OPTIMIZER;
    if (!evaluation) {
        mark_surely_learning(facts);
        return TORCH_ROUNDS_NONE;
    }
    if (mark(facts, is_learning, evaluation))
        return TORCH_ROUNDS_BACKWARD;
    if (find_main_module(facts, &module) < LEAST_FORWARDS)
        return TORCH_ROUNDS_NONE;
    mark(facts, is_forward_of, &module);
    return TORCH_ROUNDS_FORWARD;
}
