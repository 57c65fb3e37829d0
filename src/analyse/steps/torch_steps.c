// SPDX-License-Identifier: Apache-2.0
// One walk over the facts. Two things begin a step: a request for a batch to
// train on, once a round was made; and where no loader drives the loop, a round
// that comes again. A step ends with its loop's body: at the next request of the
// loop or, where the loop is over or was left, with its last round.
#include "analyse/steps/torch_steps.h"

#include <stdlib.h>

#include "analyse/steps/hook_facts.h"
#include "analyse/steps/round_gap.h"
#include "analyse/steps/round_tally.h"
#include "analyse/steps/torch_loops.h"
#include "analyse/time/intervals.h"
#include "base/array.h"

enum {
    MOST_STEPS = 1 << 25,
    STRAIGHT_NS = 10000000, // between making an iterator and asking it in a `for`
};

struct walk {
    struct torch_steps *steps;
    const struct hook_facts *facts;
    const struct torch_loops *loops;
    struct torch_step step; // being made, when is_open
    bool is_open;
    bool is_done;       // a round was made in it, or its gradients were thrown away
    bool has_worked;    // a forward, a backward or a round was in it, outside of evaluation
    bool has_round;     // a round was made in it
    bool is_round_open; // the last round may still throw its gradients away
    int64_t body_ns;    // where its body ends if its loop asks for nothing more
    int64_t round_ns;   // where the last round ended
    int64_t empty_ns;   // where its loop was found exhausted, INT64_MIN: not yet
    uint32_t driver;    // the loop whose batch this is
    struct round_gap gap;
    struct round_tally counts; // in this step
    struct round_tally before; // in the one before, where no loader drove it
    struct round_tally usual;  // a batch, in the driver's loop so far
    bool is_sole_driving;      // loops that give one batch each drive the training
};

void torch_steps_init(struct torch_steps *steps)
{
    *steps = (struct torch_steps){.count = 0};
}

void torch_steps_finish(struct torch_steps *steps)
{
    if (!steps)
        return;
    free(steps->rows);
    torch_steps_init(steps);
}

// --- the step at hand -------------------------------------------------------------

static int close_step(struct walk *walk, int64_t end_ns)
{
    struct torch_steps *steps = walk->steps;
    int status = ARRAY_RESERVE(steps->rows, steps->capacity, steps->count + 1, MOST_STEPS);
    walk->step.end_ns = time_later(end_ns, walk->step.start_ns);
    if (!status)
        steps->rows[steps->count++] = walk->step;
    return status;
}

static void open_step(struct walk *walk, int64_t at_ns, uint32_t loop)
{
    walk->step = (struct torch_step){.start_ns = at_ns, .loop = loop, .last_loop = loop};
    walk->is_open = true;
    walk->is_done = walk->has_round = walk->has_worked = false;
    walk->body_ns = at_ns;
    walk->empty_ns = INT64_MIN;
    walk->before = walk->counts;
    walk->counts.used = 0;
}

// Batches left over at the end of a loop, on which no round was made, belong to
// its last step; where it made none, they wait for the next loop's first round.
static bool join_last_step(struct walk *walk)
{
    struct torch_steps *steps = walk->steps;
    if (!steps->count)
        return false;
    struct torch_step *last = &steps->rows[steps->count - 1];
    if (last->last_loop != walk->step.last_loop)
        return false;
    last->end_ns = time_later(last->end_ns, walk->body_ns);
    last->samples += walk->step.samples;
    last->tokens += walk->step.tokens;
    return true;
}

// --- requests ---------------------------------------------------------------------

static const struct torch_loop *loop_of(const struct walk *walk, uint32_t loop)
{
    return loop == TORCH_NO_LOOP ? NULL : &walk->loops->loops[loop];
}

static bool is_sole(const struct torch_loop *loop)
{
    return loop && loop->asks == 1 && !loop->is_exhausted;
}

// What was asked for again is a batch that was dealt with: so many rounds do the
// optimizers of this loop make.
static void learn_usual(struct walk *walk, uint32_t loop)
{
    if (loop == walk->driver)
        round_tally_raise(&walk->usual, &walk->counts);
}

// The loop that is asked first for a step drives it; of a zip() the others
// give way, until it is over.
static void set_driver(struct walk *walk, uint32_t loop, size_t at)
{
    bool is_over = walk->driver == TORCH_NO_LOOP || walk->loops->loops[walk->driver].last < at;
    if (loop == walk->driver || (!is_over && walk->step.loop != loop))
        return;
    walk->driver = loop;
    walk->usual.used = 0;
}

// Whether a making leads straight to a request of the same group.
static bool is_straight(const struct walk *walk, size_t at)
{
    const struct hook_fact *making = &walk->facts->rows[at];
    size_t first = walk->loops->loops[making->id].first;
    int64_t behind_ns = making->end_ns;
    for (size_t i = at + 1; i <= first && i < walk->facts->count; i++) {
        const struct hook_fact *fact = &walk->facts->rows[i];
        if (fact->kind == TORCH_FACT_PHASE)
            continue;
        bool is_input = fact->kind == TORCH_FACT_MAKE || fact->kind == TORCH_FACT_ASK;
        if (!is_input || fact->start_ns - behind_ns > STRAIGHT_NS)
            return false;
        behind_ns = fact->end_ns;
    }
    return true;
}

// Whether the body lasts until this request: its loop is asked again, or the next
// of many iterators that give one batch each is, and nothing lies between.
static bool is_same_loop(const struct walk *walk, uint32_t next_loop, size_t at)
{
    const struct torch_loop *loop = loop_of(walk, walk->step.last_loop);
    if (loop && loop->last >= at)
        return true;
    return walk->is_sole_driving && is_sole(loop) && is_sole(loop_of(walk, next_loop)) &&
           !walk->gap.is_cut;
}

static bool is_loop_over(const struct walk *walk, uint32_t next_loop, size_t at)
{
    const struct torch_loop *loop = loop_of(walk, walk->step.last_loop);
    return loop && walk->step.last_loop != next_loop && loop->last < at && !is_sole(loop);
}

// A step that is done ends. Of a loop that is over, batches with which nothing
// was done are in no step, and those that were left over in its last one.
static int begin_by_request(struct walk *walk, size_t at)
{
    const struct hook_fact *fact = &walk->facts->rows[at];
    int status = GAIT_OK;
    if (walk->is_open && walk->is_done)
        status =
            close_step(walk, is_same_loop(walk, fact->id, at) ? fact->start_ns : walk->body_ns);
    else if (walk->is_open &&
             !(is_loop_over(walk, fact->id, at) && (!walk->has_worked || join_last_step(walk)))) {
        walk->step.last_loop = fact->id;
        return GAIT_OK;
    }
    open_step(walk, fact->start_ns, fact->id);
    return status;
}

static int take_request(struct walk *walk, size_t at)
{
    const struct hook_fact *fact = &walk->facts->rows[at];
    if (fact->id == TORCH_NO_LOOP || !walk->loops->loops[fact->id].trains)
        return GAIT_OK;
    if (fact->kind == TORCH_FACT_MAKE && !is_straight(walk, at))
        return GAIT_OK;
    learn_usual(walk, fact->id);
    int status = begin_by_request(walk, at);
    set_driver(walk, fact->id, at);
    walk->step.samples += fact->samples;
    walk->step.tokens += fact->tokens;
    return status;
}

// The first of loops that are found exhausted in a row ends the body. A batch that
// was fetched ahead may still follow.
static void take_empty(struct walk *walk, const struct hook_fact *fact)
{
    const struct torch_loop *loop = loop_of(walk, fact->id);
    bool is_again = walk->empty_ns != INT64_MIN && walk->body_ns == walk->empty_ns;
    learn_usual(walk, fact->id);
    if (!walk->is_open || is_again || !loop || !loop->trains)
        return;
    walk->body_ns = walk->empty_ns = fact->start_ns;
}

// --- rounds -----------------------------------------------------------------------

static bool steps_once_more(const struct walk *walk, size_t at)
{
    const struct hook_facts *facts = walk->facts;
    for (size_t i = at + 1; i < facts->count; i++) {
        const struct hook_fact *fact = &facts->rows[i];
        if (fact->is_round && fact->id == facts->rows[at].id)
            return true;
        if (fact->kind == TORCH_FACT_ASK && walk->loops->loops[fact->id].trains)
            return false;
    }
    return false;
}

static bool has_closure(const struct hook_facts *facts, size_t at)
{
    int64_t end_ns = facts->rows[at].end_ns;
    for (size_t i = at + 1; i < facts->count && facts->rows[i].start_ns < end_ns; i++)
        if (facts->rows[i].kind == TORCH_FACT_BACKWARD)
            return true;
    return false;
}

// Whether an optimizer that is new to this round has nothing to do with it: those
// of the round went on by themselves, it goes on before they do, or ends it all
// with a closure (LBFGS behind Adam).
static bool begins_other_loop(const struct walk *walk, size_t at)
{
    uint32_t own = walk->facts->rows[at].next_step, next = round_tally_next(&walk->counts);
    if (!round_tally_shares(&walk->counts, &walk->before))
        return false;
    return own != next ? own < next : has_closure(walk->facts, at);
}

// Whether this round is one too many for the batch: then no loader drives the
// loop any more.
static bool is_next_round(const struct walk *walk, size_t at)
{
    uint32_t id = walk->facts->rows[at].id;
    const struct torch_loop *loop = loop_of(walk, walk->driver);
    if (!walk->has_round)
        return false;
    if (loop && loop->last > at)
        return false; // it will be asked again: the batch is not done with
    if (is_sole(loop) && walk->is_sole_driving)
        return false;
    if (walk->gap.is_cut)
        return true;
    uint32_t count = round_tally_count(&walk->counts, id);
    if (!loop)
        return count > 0 || begins_other_loop(walk, at);
    uint32_t usual = round_tally_count(&walk->usual, id);
    if (!usual && !count) // not one of this loop's, or it had one batch for all
        return walk->usual.used ? steps_once_more(walk, at) : begins_other_loop(walk, at);
    return count >= (usual ? usual : 1);
}

// Where a step that no request begins does. An optimizer's follows the one before,
// or the request that found the loop exhausted (its batch was fetched ahead), a
// forward begins its own, and all after a cut begin with their first work.
static int begin_by_round(struct walk *walk, const struct hook_fact *fact)
{
    const bool follows = walk->is_open && !walk->gap.is_cut;
    int64_t at_ns = walk->gap.work_ns < fact->start_ns ? walk->gap.work_ns : fact->start_ns;
    int status = GAIT_OK;
    if (walk->steps->rounds == TORCH_ROUNDS_FORWARD)
        at_ns = fact->start_ns;
    else if (follows && walk->steps->rounds == TORCH_ROUNDS_OPTIMIZER)
        at_ns = time_later(walk->round_ns, walk->empty_ns);
    if (walk->is_open)
        status = close_step(walk, follows ? at_ns : walk->body_ns);
    open_step(walk, at_ns, TORCH_NO_LOOP);
    return status;
}

static int take_round(struct walk *walk, size_t at)
{
    const struct hook_fact *fact = &walk->facts->rows[at];
    int status = GAIT_OK;
    if (!walk->is_open || is_next_round(walk, at))
        status = begin_by_round(walk, fact);
    round_tally_add(&walk->counts, fact->id, fact->next_step);
    walk->is_done = walk->has_round = walk->is_round_open = true;
    walk->round_ns = time_later(walk->round_ns, fact->end_ns);
    walk->body_ns = time_later(walk->body_ns, fact->end_ns);
    round_gap_restart(&walk->gap);
    return status;
}

// --- the walk ---------------------------------------------------------------------

// Work on a batch that has had no round is part of its body; and so are gradients
// that are zeroed right behind a round.
static void extend_body(struct walk *walk, const struct hook_fact *fact)
{
    bool is_work = (fact->kind == TORCH_FACT_FORWARD || fact->kind == TORCH_FACT_BACKWARD) &&
                   round_gap_is_free(&walk->gap, fact);
    bool is_zero = fact->kind == TORCH_FACT_ZERO && walk->is_round_open && !walk->gap.is_cut;
    if (fact->is_discarded) {
        walk->is_done = walk->is_round_open = true;
        round_gap_restart(&walk->gap);
    } else if (fact->kind != TORCH_FACT_PHASE && !is_zero && fact->start_ns >= walk->round_ns) {
        walk->is_round_open = false;
    }
    if (is_zero || fact->is_discarded || (is_work && !walk->is_done))
        walk->body_ns = time_later(walk->body_ns, fact->end_ns);
    walk->has_worked |= is_work;
}

static int take_fact(struct walk *walk, size_t at)
{
    const struct hook_fact *fact = &walk->facts->rows[at];
    int status = GAIT_OK;
    round_gap_take(&walk->gap, fact);
    if (fact->kind == TORCH_FACT_MAKE || fact->kind == TORCH_FACT_ASK)
        status = take_request(walk, at);
    else if (fact->kind == TORCH_FACT_EMPTY)
        take_empty(walk, fact);
    else if (fact->is_round)
        status = take_round(walk, at);
    if (!fact->is_round || fact->is_discarded)
        extend_body(walk, fact);
    walk->has_worked |= fact->is_round;
    return status;
}

// What follows the last step belongs to no step.
static int finish_walk(struct walk *walk)
{
    if (!walk->is_open)
        return GAIT_OK;
    if (walk->is_done)
        return close_step(walk, walk->body_ns);
    if (walk->has_worked)
        join_last_step(walk);
    return GAIT_OK;
}

// Loops of one batch each, made again and again: they drive the training if
// there are more of them than rounds on one of them.
static bool are_soles_driving(const struct hook_facts *facts, const struct torch_loops *loops)
{
    size_t batches = 0, rounds = 0;
    bool is_on_sole = false;
    for (size_t i = 0; i < facts->count; i++) {
        const struct hook_fact *fact = &facts->rows[i];
        if (fact->kind == TORCH_FACT_ASK) {
            const struct torch_loop *loop = &loops->loops[fact->id];
            is_on_sole = loop->trains && is_sole(loop);
            batches += is_on_sole;
        }
        rounds += is_on_sole && fact->is_round;
    }
    return batches > 1 && rounds / batches <= batches;
}

int torch_steps_find(struct torch_steps *steps, const struct hook_facts *facts,
                     const struct torch_loops *loops, const struct intervals *evaluation)
{
    struct walk walk = {.steps = steps,
                        .facts = facts,
                        .loops = loops,
                        .round_ns = INT64_MIN,
                        .empty_ns = INT64_MIN,
                        .driver = TORCH_NO_LOOP,
                        .is_sole_driving = are_soles_driving(facts, loops)};
    int status = GAIT_OK;
    round_gap_init(&walk.gap, loops, evaluation);
    for (size_t i = 0; !status && i < facts->count; i++)
        status = take_fact(&walk, i);
    return status ? status : finish_walk(&walk);
}
