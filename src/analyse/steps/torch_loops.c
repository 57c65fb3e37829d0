// SPDX-License-Identifier: Apache-2.0
// Requests come in groups: with no work between them they stand together (a
// zip() of loaders, an exhausted loop before the next one), and what is done
// before the next group is done with their batches.
#include "analyse/steps/torch_loops.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/steps/hook_facts.h"
#include "analyse/time/intervals.h"
#include "base/array.h"
#include "base/fail.h"

enum { MOST_LOOPS = 1 << 24 };

static const size_t nowhere = SIZE_MAX;

void torch_loops_init(struct torch_loops *loops)
{
    *loops = (struct torch_loops){.count = 0};
}

void torch_loops_finish(struct torch_loops *loops)
{
    if (!loops)
        return;
    free(loops->loops);
    torch_loops_init(loops);
}

static bool is_input(const struct hook_fact *fact)
{
    return fact->kind == TORCH_FACT_MAKE || fact->kind == TORCH_FACT_ASK ||
           fact->kind == TORCH_FACT_EMPTY;
}

// A loader that reads from a loader: only the outer request is the loop's.
static void drop_nested(struct hook_facts *facts)
{
    int64_t input_end_ns = INT64_MIN;
    for (size_t i = 0; i < facts->count; i++) {
        struct hook_fact *fact = &facts->rows[i];
        if (fact->start_ns < input_end_ns)
            fact->kind = TORCH_FACT_PHASE;
        else if (is_input(fact))
            input_end_ns = fact->end_ns;
    }
}

// A backward whose gradients nobody stepped on before they were zeroed: AMP's
// skipped step, a guard against NaN. Nested in a step, it is a closure's.
static void mark_discarded(struct hook_facts *facts)
{
    struct hook_fact *backward = NULL;
    int64_t step_end_ns = INT64_MIN;
    for (size_t i = 0; i < facts->count; i++) {
        struct hook_fact *fact = &facts->rows[i];
        if (fact->kind == TORCH_FACT_STEP) {
            step_end_ns = fact->end_ns > step_end_ns ? fact->end_ns : step_end_ns;
            backward = NULL;
        } else if (fact->kind == TORCH_FACT_BACKWARD && fact->start_ns >= step_end_ns) {
            backward = fact;
        } else if (fact->kind == TORCH_FACT_ZERO && backward) {
            backward->is_discarded = true;
            backward = NULL;
        }
    }
}

// --- lives of iterators ---------------------------------------------------------

struct search {
    struct torch_loops *loops;
    struct hook_facts *facts;
    uint32_t *current; // of an id: its loop; the last place is for no id
    size_t pending;    // the oldest making without an id that no request followed yet
    size_t last_work;  // the last fact that was no input
};

static int add_loop(struct torch_loops *loops, uint32_t *ret_number)
{
    int status = ARRAY_RESERVE(loops->loops, loops->capacity, loops->count + 1, MOST_LOOPS);
    if (status)
        return status;
    loops->loops[loops->count] = (struct torch_loop){.first = nowhere, .last = nowhere};
    *ret_number = (uint32_t)loops->count++;
    return GAIT_OK;
}

// The next making without an id in the same group, or nowhere.
static size_t next_pending(const struct search *search, size_t behind, size_t before)
{
    for (size_t i = behind + 1; i < before; i++) {
        const struct hook_fact *fact = &search->facts->rows[i];
        if (fact->kind == TORCH_FACT_MAKE && fact->id == TORCH_NO_LOOP)
            return i;
    }
    return nowhere;
}

// Whether the request at `i` is the first of an iterator that was just made,
// though its address is known from an earlier one.
static bool is_new_life(const struct search *search, uint32_t loop)
{
    if (loop == TORCH_NO_LOOP)
        return true;
    if (search->pending == nowhere)
        return false;
    bool is_same_group = search->last_work == nowhere || search->pending > search->last_work;
    size_t last = search->loops->loops[loop].last;
    return is_same_group && (last == nowhere || last < search->pending);
}

static int take_request(struct search *search, size_t i)
{
    struct hook_fact *fact = &search->facts->rows[i];
    uint32_t slot = fact->id == TORCH_NO_ID ? search->facts->id_count : fact->id;
    uint32_t number = search->current[slot];
    if (is_new_life(search, number)) {
        int status = add_loop(search->loops, &number);
        if (status)
            return status;
        search->current[slot] = number;
        if (search->pending != nowhere) {
            search->facts->rows[search->pending].id = number;
            search->pending = next_pending(search, search->pending, i);
        }
    }
    struct torch_loop *loop = &search->loops->loops[number];
    if (loop->first == nowhere)
        loop->first = i;
    loop->last = i;
    loop->asks += fact->kind == TORCH_FACT_ASK;
    loop->is_exhausted |= fact->kind == TORCH_FACT_EMPTY;
    fact->id = number;
    return GAIT_OK;
}

static int take_making(struct search *search, size_t i)
{
    struct hook_fact *fact = &search->facts->rows[i];
    uint32_t id = fact->id;
    fact->id = TORCH_NO_LOOP;
    if (id != TORCH_NO_ID) {
        int status = add_loop(search->loops, &fact->id);
        search->current[id] = fact->id;
        return status;
    }
    if (search->pending == nowhere)
        search->pending = i;
    return GAIT_OK;
}

int torch_loops_find(struct torch_loops *loops, struct hook_facts *facts)
{
    struct search search = {
        .loops = loops, .facts = facts, .pending = nowhere, .last_work = nowhere};
    int status = GAIT_OK;
    search.current = malloc(((size_t)facts->id_count + 1) * sizeof *search.current);
    if (!search.current)
        return fail(GAIT_ERR_MEMORY, "no memory for loops");
    memset(search.current, 0xff, ((size_t)facts->id_count + 1) * sizeof *search.current);
    drop_nested(facts);
    mark_discarded(facts);
    for (size_t i = 0; !status && i < facts->count; i++) {
        const struct hook_fact *fact = &facts->rows[i];
        if (fact->kind == TORCH_FACT_MAKE)
            status = take_making(&search, i);
        else if (is_input(fact))
            status = take_request(&search, i);
        else if (fact->kind != TORCH_FACT_PHASE)
            search.last_work = i;
    }
    free(search.current);
    return status;
}

// --- who trains -----------------------------------------------------------------

// A row of requests, and what was done with their batches.
struct group {
    size_t first, behind; // facts
    bool has_steps, has_backward;
};

// One batch to look at, before the loop that goes on: no part of that loop.
static bool is_glance(const struct torch_loops *loops, const struct hook_facts *facts,
                      const struct group *group, size_t at)
{
    const struct torch_loop *loop = &loops->loops[facts->rows[at].id];
    if (loop->asks > 1 || loop->is_exhausted)
        return false;
    for (size_t i = at + 1; i < group->behind; i++)
        if (facts->rows[i].kind == TORCH_FACT_ASK && loops->loops[facts->rows[i].id].asks > 1)
            return true;
    return false;
}

// All batches were asked for at once, as by list(loader), and kept.
static bool is_hoard(const struct torch_loop *loop, const struct group *group)
{
    return loop->asks > 1 && loop->is_exhausted && loop->first >= group->first &&
           loop->last < group->behind;
}

static void judge_group(struct torch_loops *loops, const struct hook_facts *facts,
                        const struct group *group)
{
    if (!group->has_steps && !group->has_backward)
        return;
    for (size_t i = group->first; i < group->behind; i++) {
        const struct hook_fact *fact = &facts->rows[i];
        if (fact->kind != TORCH_FACT_ASK)
            continue;
        struct torch_loop *loop = &loops->loops[fact->id];
        if (is_hoard(loop, group) || is_glance(loops, facts, group, i))
            continue;
        loop->has_steps |= group->has_steps;
        loop->trains = true;
    }
}

static void begin_group(struct torch_loops *loops, const struct hook_facts *facts,
                        struct group *group, size_t at)
{
    judge_group(loops, facts, group);
    *group = (struct group){.first = at};
}

void torch_loops_judge(struct torch_loops *loops, const struct hook_facts *facts,
                       const struct intervals *evaluation)
{
    struct group group = {.first = 0, .behind = 0};
    bool is_in_group = false;
    for (size_t i = 0; i < facts->count; i++) {
        const struct hook_fact *fact = &facts->rows[i];
        if (is_input(fact)) {
            if (!is_in_group)
                begin_group(loops, facts, &group, i);
            is_in_group = true;
            group.behind = i + 1;
        } else if (fact->kind != TORCH_FACT_PHASE) {
            is_in_group = false;
            group.has_steps |= fact->is_round;
            group.has_backward |= evaluation && fact->kind == TORCH_FACT_BACKWARD &&
                                  !intervals_cover(evaluation, fact->start_ns);
        }
    }
    judge_group(loops, facts, &group);
}
