// SPDX-License-Identifier: Apache-2.0
// One walk over the facts. Two things begin a step: a request for a batch to
// train on, once an optimizer stepped; and where no loader drives the loop, an
// optimizer that steps again.
#include "analyse/torch_steps.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/torch_evaluation.h"
#include "analyse/torch_facts.h"
#include "analyse/torch_loops.h"
#include "base/array.h"

enum {
    MOST_STEPS = 1 << 25,
    MOST_OPTIMIZERS = 32,   // told apart within a step
    STRAIGHT_NS = 10000000, // between making an iterator and asking it in a `for`
};

// How often each optimizer stepped, and where it steps next; few, so looked for
// in a row.
struct tally {
    uint32_t ids[MOST_OPTIMIZERS], counts[MOST_OPTIMIZERS], nexts[MOST_OPTIMIZERS];
    unsigned used;
};

struct walk {
    struct torch_steps *steps;
    const struct torch_facts *facts;
    const struct torch_loops *loops;
    const struct torch_periods *evaluation;
    struct torch_step step; // being made, when is_open
    bool is_open;
    bool is_done;         // an optimizer stepped in it, or its gradients were thrown away
    bool has_worked;      // there was a forward, a backward or a step in it
    bool has_stepped;     // an optimizer's
    int64_t stepped_ns;   // where the last optimizer step ended
    int64_t work_ns;      // first work since the last evaluation, INT64_MAX: none
    uint32_t driver;      // the loop whose batch this is
    struct tally counts;  // in this step
    struct tally before;  // in the one before, where no loader drove it
    struct tally usual;   // a batch, in the driver's loop so far
    bool is_sole_driving; // loops that give one batch each drive the training
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

// The place of an optimizer in the tally; those past the last share it.
static uint32_t *tally_of(struct tally *tally, uint32_t id)
{
    unsigned at = 0;
    while (at < tally->used && tally->ids[at] != id)
        at++;
    if (at == MOST_OPTIMIZERS)
        return &tally->counts[MOST_OPTIMIZERS - 1];
    if (at == tally->used) {
        tally->ids[at] = id;
        tally->counts[at] = 0;
        tally->used++;
    }
    return &tally->counts[at];
}

static uint32_t count_of(const struct tally *tally, uint32_t id)
{
    for (unsigned i = 0; i < tally->used; i++)
        if (tally->ids[i] == id)
            return tally->counts[i];
    return 0;
}

static int add_step(struct torch_steps *steps, const struct torch_step *step)
{
    const struct array_shape shape = {sizeof *steps->rows, MOST_STEPS};
    int status = array_reserve((void **)&steps->rows, &steps->capacity, steps->count + 1, shape);
    if (!status)
        steps->rows[steps->count++] = *step;
    return status;
}

static int begin_step(struct walk *walk, int64_t at_ns, uint32_t loop)
{
    int status = GAIT_OK;
    if (walk->is_open) {
        walk->step.end_ns = at_ns;
        status = add_step(walk->steps, &walk->step);
    }
    walk->step = (struct torch_step){.start_ns = at_ns, .loop = loop};
    walk->is_open = true;
    walk->is_done = walk->has_stepped = walk->has_worked = false;
    walk->before = walk->counts;
    walk->counts.used = 0;
    return status;
}

// What was asked for again is a batch that was dealt with: so often do the
// optimizers of this loop step.
static void learn_usual(struct walk *walk, uint32_t loop)
{
    if (loop != walk->driver)
        return;
    for (unsigned i = 0; i < walk->counts.used; i++) {
        uint32_t *usual = tally_of(&walk->usual, walk->counts.ids[i]);
        if (walk->counts.counts[i] > *usual)
            *usual = walk->counts.counts[i];
    }
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
    const struct torch_fact *making = &walk->facts->rows[at];
    size_t first = walk->loops->loops[making->id].first;
    int64_t behind_ns = making->end_ns;
    for (size_t i = at + 1; i <= first && i < walk->facts->count; i++) {
        const struct torch_fact *fact = &walk->facts->rows[i];
        if (fact->kind == TORCH_FACT_PHASE)
            continue;
        bool is_input = fact->kind == TORCH_FACT_MAKE || fact->kind == TORCH_FACT_ASK;
        if (!is_input || fact->start_ns - behind_ns > STRAIGHT_NS)
            return false;
        behind_ns = fact->end_ns;
    }
    return true;
}

// The last batch of a loop that was left, with nothing done on it.
static bool is_abandoned(const struct walk *walk, uint32_t next_loop, size_t at)
{
    if (!walk->is_open || walk->has_worked || walk->step.loop == TORCH_NO_LOOP ||
        walk->step.loop == next_loop)
        return false;
    const struct torch_loop *loop = &walk->loops->loops[walk->step.loop];
    return loop->last < at && (loop->asks > 1 || loop->is_exhausted);
}

// It belongs to the step before; this one begins with the next loop.
static void abandon(struct walk *walk, int64_t at_ns, uint32_t next_loop)
{
    struct torch_steps *steps = walk->steps;
    if (steps->count) {
        struct torch_step *last = &steps->rows[steps->count - 1];
        last->end_ns = at_ns;
        last->samples += walk->step.samples;
        last->tokens += walk->step.tokens;
    }
    walk->step = (struct torch_step){.start_ns = at_ns, .loop = next_loop};
}

static int take_request(struct walk *walk, size_t at)
{
    const struct torch_fact *fact = &walk->facts->rows[at];
    int status = GAIT_OK;
    if (fact->id == TORCH_NO_LOOP || !walk->loops->loops[fact->id].trains)
        return GAIT_OK;
    if (fact->kind == TORCH_FACT_MAKE && !is_straight(walk, at))
        return GAIT_OK;
    learn_usual(walk, fact->id);
    if (!walk->is_open || walk->is_done)
        status = begin_step(walk, fact->start_ns, fact->id);
    else if (is_abandoned(walk, fact->id, at))
        abandon(walk, fact->start_ns, fact->id);
    set_driver(walk, fact->id, at);
    walk->step.samples += fact->samples;
    walk->step.tokens += fact->tokens;
    return status;
}

static bool steps_once_more(const struct walk *walk, size_t at)
{
    const struct torch_facts *facts = walk->facts;
    for (size_t i = at + 1; i < facts->count; i++) {
        const struct torch_fact *fact = &facts->rows[i];
        if (fact->kind == TORCH_FACT_STEP && fact->id == facts->rows[at].id)
            return true;
        if (fact->kind == TORCH_FACT_ASK && walk->loops->loops[fact->id].trains)
            return false;
    }
    return false;
}

static bool has_closure(const struct torch_facts *facts, size_t at)
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
    const struct tally *round = &walk->counts;
    uint32_t own = walk->facts->rows[at].next_step, next = TORCH_NO_STEP;
    bool went_on = false;
    for (unsigned i = 0; i < round->used; i++) {
        went_on |= count_of(&walk->before, round->ids[i]) > 0;
        next = round->nexts[i] < next ? round->nexts[i] : next;
    }
    if (!went_on)
        return false;
    return own != next ? own < next : has_closure(walk->facts, at);
}

// Whether this optimizer step is one too many for the batch: then no loader
// drives the loop any more.
static bool is_next_round(struct walk *walk, size_t at)
{
    uint32_t id = walk->facts->rows[at].id;
    if (!walk->has_stepped)
        return false;
    if (walk->driver == TORCH_NO_LOOP)
        return count_of(&walk->counts, id) > 0 || begins_other_loop(walk, at);
    const struct torch_loop *loop = &walk->loops->loops[walk->driver];
    if (loop->last > at)
        return false; // it will be asked again: the batch is not done with
    if (loop->asks == 1 && !loop->is_exhausted && walk->is_sole_driving)
        return false;
    uint32_t usual = count_of(&walk->usual, id), count = count_of(&walk->counts, id);
    if (!usual && !count) // not one of this loop's, or it had one batch for all
        return walk->usual.used ? steps_once_more(walk, at) : begins_other_loop(walk, at);
    return count >= (usual ? usual : 1);
}

static int take_step(struct walk *walk, size_t at)
{
    const struct torch_fact *fact = &walk->facts->rows[at];
    int status = GAIT_OK;
    if (!walk->is_open)
        status = begin_step(walk, walk->work_ns < fact->start_ns ? walk->work_ns : fact->start_ns,
                            TORCH_NO_LOOP);
    else if (is_next_round(walk, at))
        status = begin_step(walk, walk->stepped_ns, TORCH_NO_LOOP);
    uint32_t *count = tally_of(&walk->counts, fact->id);
    ++*count;
    walk->counts.nexts[count - walk->counts.counts] = fact->next_step;
    walk->is_done = walk->has_stepped = true;
    if (fact->end_ns > walk->stepped_ns)
        walk->stepped_ns = fact->end_ns;
    return status;
}

// Remembers where the work began that leads to the first step without a loader.
static void note_work(struct walk *walk, const struct torch_fact *fact, size_t *period)
{
    const struct torch_periods *evaluation = walk->evaluation;
    while (*period < evaluation->count && evaluation->rows[*period].end_ns <= fact->start_ns) {
        walk->work_ns = INT64_MAX;
        ++*period;
    }
    bool is_work = fact->kind == TORCH_FACT_FORWARD || fact->kind == TORCH_FACT_BACKWARD ||
                   fact->kind == TORCH_FACT_ZERO;
    bool is_evaluating =
        *period < evaluation->count && evaluation->rows[*period].start_ns <= fact->start_ns;
    if (is_work && !is_evaluating && walk->work_ns == INT64_MAX)
        walk->work_ns = fact->start_ns;
}

// Where nothing is known of an optimizer, each batch that was learned from counts.
static bool is_step_itself(const struct walk *walk, const struct torch_fact *backward)
{
    return !walk->steps->has_optimizer &&
           !torch_periods_cover(walk->evaluation, backward->start_ns);
}

static int walk_facts(struct walk *walk)
{
    const struct torch_facts *facts = walk->facts;
    size_t period = 0;
    int status = GAIT_OK;
    for (size_t i = 0; !status && i < facts->count; i++) {
        const struct torch_fact *fact = &facts->rows[i];
        if (!walk->is_open)
            note_work(walk, fact, &period);
        if (fact->kind == TORCH_FACT_MAKE || fact->kind == TORCH_FACT_ASK)
            status = take_request(walk, i);
        else if (fact->kind == TORCH_FACT_EMPTY)
            learn_usual(walk, fact->id);
        else if (fact->kind == TORCH_FACT_STEP)
            status = take_step(walk, i);
        else if (fact->kind == TORCH_FACT_BACKWARD)
            walk->is_done |= fact->is_discarded || is_step_itself(walk, fact);
        walk->has_worked |= fact->kind == TORCH_FACT_FORWARD || fact->kind == TORCH_FACT_BACKWARD ||
                            fact->kind == TORCH_FACT_STEP;
    }
    return status;
}

// What no optimizer stepped on belongs to the step before, as all does that
// follows the last step.
static int finish_walk(struct walk *walk)
{
    struct torch_steps *steps = walk->steps;
    int64_t end_ns = walk->facts->end_ns;
    if (!walk->is_open)
        return GAIT_OK;
    if (walk->step.start_ns > end_ns)
        end_ns = walk->step.start_ns;
    walk->step.end_ns = end_ns;
    if (walk->is_done)
        return add_step(steps, &walk->step);
    if (steps->count) {
        struct torch_step *last = &steps->rows[steps->count - 1];
        last->end_ns = end_ns;
        last->samples += walk->step.samples;
        last->tokens += walk->step.tokens;
    }
    return GAIT_OK;
}

// Loops of one batch each, made again and again: they drive the training if
// there are more of them than optimizer steps on one of them.
static bool are_soles_driving(const struct torch_facts *facts, const struct torch_loops *loops)
{
    size_t batches = 0, steps = 0;
    bool is_sole = false;
    for (size_t i = 0; i < facts->count; i++) {
        const struct torch_fact *fact = &facts->rows[i];
        if (fact->kind == TORCH_FACT_ASK) {
            const struct torch_loop *loop = &loops->loops[fact->id];
            is_sole = loop->trains && loop->asks == 1 && !loop->is_exhausted;
            batches += is_sole;
        }
        steps += is_sole && fact->kind == TORCH_FACT_STEP;
    }
    return batches > 1 && steps / batches <= batches;
}

int torch_steps_find(struct torch_steps *steps, const struct torch_facts *facts,
                     const struct torch_loops *loops, const struct torch_periods *evaluation)
{
    struct walk walk = {.steps = steps,
                        .facts = facts,
                        .loops = loops,
                        .evaluation = evaluation,
                        .stepped_ns = INT64_MIN,
                        .work_ns = INT64_MAX,
                        .driver = TORCH_NO_LOOP};
    for (size_t i = 0; i < facts->count; i++)
        steps->has_optimizer |= facts->rows[i].kind == TORCH_FACT_STEP;
    walk.is_sole_driving = are_soles_driving(facts, loops);
    int status = walk_facts(&walk);
    return status ? status : finish_walk(&walk);
}
