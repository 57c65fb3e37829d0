// SPDX-License-Identifier: Apache-2.0
// Where the thread was busy the figure is its CPU time: what other programs took
// from it does not matter then, so all steps count, as the mean of their middle
// half. (Steps come in kinds: a lower quartile would see the cheap ones only. A
// transformer whose every second step had the system clear fresh memory, 0.7 ms
// of 6, was told 0.8 instead of 1.1 ms by it.)
//
// Where it waited, for a device or its loader, it is the wall clock, by lower
// quartiles: under load half of the steps may be interrupted, and what they lost
// there says nothing of ops.
//
// The first step behind a window is left out: it finds the caches full of what
// the window needed and is 5 to 25 % slower than those that follow.
#include "analyse/cost/window_cost.h"

#include <stdlib.h>

#include "analyse/steps/step_clock.h"
#include "analyse/time/intervals.h"
#include "base/fail.h"

enum {
    NEAREST = 24, // on each side
    FEWEST = 4,   // on both sides together
    MOST_INSIDE = 64,
    BUSY_PERCENT = 90,
};

enum place { OUTSIDE, INSIDE, NEITHER };

struct comparison {
    const struct step_clock *steps;
    uint8_t *places; // enum place of each step
    int64_t *more_ns;
    bool is_by_cpu;
};

static int by_value(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static int64_t mean_of_middle(const int64_t *sorted, size_t count)
{
    size_t cut = count / 4;
    double sum = 0;
    for (size_t i = cut; i < count - cut; i++)
        sum += (double)sorted[i];
    return (int64_t)(sum / (double)(count - 2 * cut));
}

// The smallest of three, the twelfth of 48.
static int64_t lower_quartile(const int64_t *sorted, size_t count)
{
    size_t place = (count + 1 + 2) / 4; // from 1
    return sorted[place ? place - 1 : 0];
}

static int64_t usual(const struct comparison *comparison, int64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return comparison->is_by_cpu ? mean_of_middle(values, count) : lower_quartile(values, count);
}

static int64_t middle(int64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : values[count / 2 - 1] / 2 + values[count / 2] / 2;
}

static int64_t length_of(const struct clocked_step *step)
{
    return step->end_ns - step->start_ns;
}

static int64_t cost_of(const struct comparison *comparison, size_t step)
{
    const struct clocked_step *row = &comparison->steps->rows[step];
    return comparison->is_by_cpu ? row->cpu_ns : length_of(row);
}

// Which steps lie in windows for the most part; odd ones and the first behind a
// window stand for neither side.
static void find_places(struct comparison *comparison, const struct intervals *windows)
{
    size_t at = 0;
    bool was_inside = false;
    for (size_t i = 0; i < comparison->steps->count; i++) {
        const struct clocked_step *step = &comparison->steps->rows[i];
        int64_t middle_ns = step->start_ns + length_of(step) / 2;
        while (at < windows->count && windows->rows[at].end_ns <= middle_ns)
            at++;
        bool is_inside = at < windows->count && windows->rows[at].start_ns <= middle_ns;
        comparison->places[i] = is_inside ? INSIDE : OUTSIDE;
        if (comparison->is_by_cpu && (step->is_odd || (was_inside && !is_inside)))
            comparison->places[i] = is_inside ? INSIDE : NEITHER;
        was_inside = is_inside;
    }
}

// A thread that did not wait was on the processor as long as others let it. One that
// does may wait for nothing that matters: if it was on the processor nearly all the
// time in a quarter of its steps, it wanted to be in the others.
static bool is_busy(const struct step_clock *steps)
{
    size_t busy = 0, waiting = 0;
    for (size_t i = 0; i < steps->count; i++) {
        const struct clocked_step *step = &steps->rows[i];
        if (step->cpu_ns < 0)
            return false;
        busy += step->cpu_ns >= length_of(step) / 100 * BUSY_PERCENT;
        waiting += step->waits > 0;
    }
    return steps->count && (waiting * 2 < steps->count || busy >= (steps->count + 3) / 4);
}

// Of the steps outside that are nearest to [from, behind).
static size_t take_nearest(const struct comparison *comparison, size_t from, size_t behind,
                           int64_t *out)
{
    size_t count = 0, before = 0, after = 0;
    for (size_t i = from; i > 1 && before < NEAREST; i--)
        if (comparison->places[i - 1] == OUTSIDE) {
            out[count++] = cost_of(comparison, i - 1);
            before++;
        }
    for (size_t i = behind; i + 1 < comparison->steps->count && after < NEAREST; i++)
        if (comparison->places[i] == OUTSIDE) {
            out[count++] = cost_of(comparison, i);
            after++;
        }
    return count;
}

static size_t take_inside(const struct comparison *comparison, size_t from, size_t behind,
                          int64_t *out)
{
    size_t count = 0;
    for (size_t i = from; i < behind; i++)
        if (!comparison->is_by_cpu || !comparison->steps->rows[i].is_odd)
            out[count++] = cost_of(comparison, i);
    return count;
}

// What a step of one row of steps inside took more than its surroundings. False:
// too few are near.
static bool compare_row(const struct comparison *comparison, size_t from, size_t behind,
                        int64_t *ret_more_ns)
{
    int64_t outside[2 * NEAREST], inside[MOST_INSIDE];
    size_t out = take_nearest(comparison, from, behind, outside);
    size_t in = take_inside(comparison, from, behind, inside);
    if (out < FEWEST || !in)
        return false;
    *ret_more_ns = usual(comparison, inside, in) - usual(comparison, outside, out);
    return true;
}

// Compares row by row. Long rows are cut, so that each part is compared with
// what is near to it.
static size_t compare_rows(struct window_cost *cost, const struct comparison *comparison)
{
    size_t rows = 0, count = comparison->steps->count;
    for (size_t from = 1, to; from + 1 < count; from = to) {
        for (to = from;
             to + 1 < count && comparison->places[to] == INSIDE && to - from < MOST_INSIDE; to++)
            ;
        cost->inside += to - from;
        cost->outside += to == from;
        if (to == from)
            to++;
        else
            rows += compare_row(comparison, from, to, &comparison->more_ns[rows]);
    }
    return rows;
}

int window_cost_find(struct window_cost *cost, const struct step_clock *steps,
                     const struct intervals *windows)
{
    struct comparison comparison = {.steps = steps,
                                    .places = malloc(steps->count + 1),
                                    .more_ns = malloc((steps->count + 1) * sizeof(int64_t)),
                                    .is_by_cpu = is_busy(steps)};
    int status = GAIT_OK;
    *cost = (struct window_cost){.each_ns = 0};
    if (comparison.places && comparison.more_ns) {
        find_places(&comparison, windows);
        size_t rows = compare_rows(cost, &comparison);
        int64_t usual_ns = rows ? middle(comparison.more_ns, rows) : 0;
        cost->is_known = rows > 0;
        cost->each_ns = usual_ns > 0 ? (uint64_t)usual_ns : 0;
    } else {
        status = fail(GAIT_ERR_MEMORY, "no memory for %zu steps", steps->count);
    }
    free(comparison.places);
    free(comparison.more_ns);
    return status;
}
