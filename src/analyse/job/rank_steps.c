// SPDX-License-Identifier: Apache-2.0
#include "analyse/job/rank_steps.h"

#include <stdlib.h>

#include "analyse/cost/window_cost.h"
#include "base/array.h"

enum { MOST_STEPS = 1 << 25, MOST_PIECES = 1 << 26 };

void rank_steps_forget(struct rank_steps *steps)
{
    training_thread_finish(&steps->thread);
    training_thread_init(&steps->thread);
    intervals_finish(&steps->windows);
    steps->has_thread = false;
}

void rank_steps_finish(struct rank_steps *steps)
{
    if (!steps)
        return;
    rank_steps_forget(steps);
    free(steps->rows);
    free(steps->shares);
    free(steps->first_share);
    free(steps->pieces);
    *steps = (struct rank_steps){.rows = NULL};
}

// --- the rows -------------------------------------------------------------------------

static int take_marked(struct rank_steps *steps, const struct rank_source *source)
{
    steps->rows = malloc((source->marked_count + 1) * sizeof *steps->rows);
    if (!steps->rows)
        return rank_steps_no_memory();
    for (size_t i = 0; i < source->marked_count; i++)
        steps->rows[i] = source->marked[i];
    steps->rank.steps = source->marked_count;
    return GAIT_OK;
}

static int take_derived(struct rank_steps *steps)
{
    const struct torch_steps *derived = &steps->thread.steps;
    if (derived->count > MOST_STEPS)
        return rank_steps_no_memory();
    steps->rows = malloc((derived->count + 1) * sizeof *steps->rows);
    if (!steps->rows)
        return rank_steps_no_memory();
    for (size_t i = 0; i < derived->count; i++) {
        const struct torch_step *step = &derived->rows[i];
        steps->rows[i] = (struct step_row){.start_ns = step->start_ns,
                                           .duration_ns = step->end_ns - step->start_ns,
                                           .number = i,
                                           .track = steps->rank.track};
    }
    steps->rank.steps = derived->count;
    return GAIT_OK;
}

ARRAY_BY1(by_start, struct step_row, start_ns)

// Rows of one thread in order become windows. Steps cannot overlap; where a
// file says so, the later one gives way.
static int make_windows(struct step_row *rows, size_t count, struct intervals *windows)
{
    int64_t end_ns = INT64_MIN;
    windows->rows = malloc((count + 1) * sizeof *windows->rows);
    if (!windows->rows)
        return rank_steps_no_memory();
    windows->count = windows->capacity = count;
    for (size_t i = 0; i < count; i++) {
        int64_t start_ns = rows[i].start_ns, behind_ns = start_ns + rows[i].duration_ns;
        start_ns = start_ns > end_ns ? start_ns : end_ns;
        behind_ns = behind_ns > start_ns ? behind_ns : start_ns;
        rows[i].start_ns = start_ns;
        rows[i].duration_ns = behind_ns - start_ns;
        windows->rows[i] = (struct interval){start_ns, behind_ns};
        end_ns = behind_ns;
    }
    return GAIT_OK;
}

// --- where their time went ----------------------------------------------------------------

struct splitting {
    struct rank_steps *steps;
    uint64_t phases[TORCH_MOST_PHASES]; // of the window at hand
    uint64_t seen;                      // bits: it has pieces of that phase
    size_t window;                      // SIZE_MAX: none yet
    size_t share_count, share_capacity;
    bool keeps_pieces;
};

// Ends the shares of the window at hand and of those behind it that have no pieces.
static int close_windows(struct splitting *splitting, size_t until)
{
    struct rank_steps *steps = splitting->steps;
    int status = ARRAY_RESERVE(steps->shares, splitting->share_capacity,
                               splitting->share_count + TORCH_MOST_PHASES, (size_t)1 << 32);
    if (status)
        return status;
    for (unsigned phase = 0; phase < TORCH_MOST_PHASES; phase++) {
        if (splitting->seen & (uint64_t)1 << phase)
            steps->shares[splitting->share_count++] = (struct step_share){
                .ns = splitting->phases[phase] & (UINT64_MAX >> 6), .phase = phase & 63};
        splitting->phases[phase] = 0;
    }
    splitting->seen = 0;
    for (size_t i = splitting->window + 1; i <= until; i++) // SIZE_MAX + 1 is 0
        steps->first_share[i] = splitting->share_count;
    splitting->window = until;
    return GAIT_OK;
}

// Who communicates longest waits for somebody: that is no work.
static int take_piece(const struct torch_piece *piece, void *context)
{
    struct splitting *splitting = context;
    struct rank_steps *steps = splitting->steps;
    const int status =
        piece->window == splitting->window ? GAIT_OK : close_windows(splitting, piece->window);
    if (status)
        return status;
    splitting->phases[piece->phase] += piece->ns;
    splitting->seen |= (uint64_t)1 << piece->phase;
    steps->rank.phases[piece->phase] += piece->ns;
    steps->rank.total_ns += piece->ns;
    if (piece->phase != TORCH_COMMUNICATION)
        steps->rows[piece->window].work_ns += (int64_t)piece->ns;
    return splitting->keeps_pieces ? ARRAY_ADD(steps->pieces, steps->piece_count,
                                               steps->piece_capacity, MOST_PIECES, piece)
                                   : GAIT_OK;
}

static int split(struct rank_steps *steps, bool keeps_pieces)
{
    struct splitting splitting = {.steps = steps, .window = SIZE_MAX, .keeps_pieces = keeps_pieces};
    steps->first_share = calloc(steps->rank.steps + 2, sizeof *steps->first_share);
    if (!steps->first_share)
        return rank_steps_no_memory();
    const int status = torch_ledger_split(&steps->thread, &steps->windows, take_piece, &splitting);
    return status ? status : close_windows(&splitting, steps->rank.steps);
}

// --- steps with ops on record ---------------------------------------------------------------

static int by_length(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

// The lower quartile: the length of a step is not its work. One may have waited for its
// window to open, the last lasts until something else begins, and on a crowded machine
// more than half of them may have been interrupted.
static int find_usual_length(const struct intervals *steps, int64_t *ret_ns)
{
    int64_t *lengths = malloc((steps->count + 1) * sizeof *lengths);
    if (!lengths)
        return rank_steps_no_memory();
    for (size_t i = 0; i < steps->count; i++)
        lengths[i] = steps->rows[i].end_ns - steps->rows[i].start_ns;
    qsort(lengths, steps->count, sizeof *lengths, by_length);
    *ret_ns = steps->count ? lengths[steps->count / 4] : 0;
    free(lengths);
    return GAIT_OK;
}

// Windows of a lying file may cover a step many times over.
static uint64_t covered_ns(const struct interval *step, const struct intervals *windows,
                           size_t from)
{
    uint64_t sum_ns = 0;
    for (size_t i = from; i < windows->count && windows->rows[i].start_ns < step->end_ns; i++) {
        const struct interval *window = &windows->rows[i];
        int64_t start_ns = step->start_ns > window->start_ns ? step->start_ns : window->start_ns;
        int64_t end_ns = step->end_ns < window->end_ns ? step->end_ns : window->end_ns;
        sum_ns += end_ns > start_ns ? (uint64_t)(end_ns - start_ns) : 0;
    }
    return sum_ns;
}

struct work {
    size_t all, recorded; // forwards, backwards and optimizer steps
};

// Of a step; `fact` and `window` go through theirs with the steps.
static struct work count_work(const struct hook_facts *facts, const struct interval *step,
                              size_t *fact, size_t window)
{
    const struct intervals *windows = &facts->windows;
    struct work work = {0, 0};
    const struct hook_fact *row;
    while ((row = hook_facts_next_work(facts, step, fact))) {
        while (window < windows->count && windows->rows[window].end_ns <= row->start_ns)
            window++;
        work.all++;
        work.recorded += window < windows->count && windows->rows[window].start_ns <= row->start_ns;
    }
    return work;
}

// How many steps have their ops on record: of half of their work. Where nothing of
// that is known, as much of them as half of a usual step.
static int count_recorded(const struct hook_facts *facts, struct torch_rank *rank,
                          const struct intervals *steps)
{
    const struct intervals *windows = &facts->windows;
    int64_t usual_ns = 0;
    size_t at = 0, fact = 0;
    int status = find_usual_length(steps, &usual_ns);
    for (size_t i = 0; !status && i < steps->count; i++) {
        const struct interval *step = &steps->rows[i];
        int64_t length_ns = step->end_ns - step->start_ns;
        while (at < windows->count && windows->rows[at].end_ns <= step->start_ns)
            at++;
        const struct work work = count_work(facts, step, &fact, at);
        const uint64_t covered = covered_ns(step, windows, at);
        rank->recorded_ns += covered;
        rank->recorded +=
            work.all
                ? work.recorded * 2 >= work.all
                : covered && covered >= (uint64_t)(length_ns < usual_ns ? length_ns : usual_ns) / 2;
    }
    return status;
}

// --- all of it ------------------------------------------------------------------------------

static void sum_clock(struct torch_rank *rank, const struct step_clock *clock)
{
    for (size_t i = 0; i < clock->count; i++) {
        rank->clocked_ns += (uint64_t)(clock->rows[i].end_ns - clock->rows[i].start_ns);
        rank->cpu_ns += (uint64_t)clock->rows[i].cpu_ns;
    }
}

// Recorders before this one did not clock the steps.
static int find_window_cost(struct rank_steps *steps, struct step_clock *clock)
{
    const struct hook_facts *facts = &steps->thread.facts;
    int status = GAIT_OK;
    sum_clock(&steps->rank, clock);
    if (!clock->count) {
        step_clock_finish(clock);
        status = step_clock_take(clock, &steps->windows);
    }
    if (status)
        return status;
    step_clock_mark(clock, facts);
    return window_cost_find(&steps->rank.windows, clock, &facts->windows);
}

// A batch that is fetched once and used in each step says nothing of a step; one of which
// the next is asked for ahead leaves none for the last step.
static void sum_samples(struct rank_steps *steps)
{
    struct torch_rank *rank = &steps->rank;
    const struct torch_step *rows = steps->thread.steps.rows;
    const size_t count = steps->thread.steps.count, first = count > 1;
    uint64_t samples = 0, tokens = 0;
    size_t fetching = 0, last = 0;
    for (size_t i = 0; i < count; i++) {
        rank->samples += rows[i].samples;
        rank->tokens += rows[i].tokens;
        if (i < first || !rows[i].samples)
            continue;
        samples += rows[i].samples;
        tokens += rows[i].tokens;
        last = i + 1 - first;
        fetching++;
    }
    if (!fetching || 2 * fetching < count - first)
        return;
    const double all =
        (double)(rank->is_marked && rank->steps > first ? rank->steps - first : last);
    rank->step_samples = (double)samples / all;
    rank->step_tokens = (double)tokens / all;
}

static int take_apart(struct rank_steps *steps, const struct rank_source *source)
{
    struct torch_rank *rank = &steps->rank;
    qsort(steps->rows, rank->steps, sizeof *steps->rows, by_start);
    for (size_t i = 0; i < rank->steps; i++)
        steps->rows[i].tag = i;
    int status = make_windows(steps->rows, rank->steps, &steps->windows);
    if (!status)
        status = split(steps, source->keeps_pieces);
    if (!status)
        status = run_parts_find(&rank->run, &steps->thread, &steps->windows, &source->life);
    if (!status)
        status = find_window_cost(steps, source->clock);
    return status ? status : count_recorded(&steps->thread.facts, rank, &steps->windows);
}

int rank_steps_make(struct rank_steps *steps, struct rank_source *source)
{
    *steps = (struct rank_steps){.rank = source->rank, .has_thread = true};
    training_thread_init(&steps->thread);
    intervals_init(&steps->windows);
    steps->thread.facts = source->facts;
    hook_facts_init(&source->facts);
    int status = training_thread_derive(&steps->thread);
    if (!status)
        status = steps->rank.is_marked ? take_marked(steps, source) : take_derived(steps);
    if (status)
        return status;
    steps->rounds = steps->thread.steps.rounds;
    steps->rank.has_optimizer = steps->rounds == TORCH_ROUNDS_OPTIMIZER;
    sum_samples(steps);
    return steps->rank.steps ? take_apart(steps, source) : GAIT_OK;
}
