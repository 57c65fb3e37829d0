// SPDX-License-Identifier: Apache-2.0
// Lower quartiles: under load half of the steps may be interrupted, and what they
// lost there says nothing of ops (measured: the median of steps outside jumped
// between 1.6 and 5 ms where their lower quartile stayed at 1.4). And of all windows
// the one in the middle, since a short one may lie in a burst as a whole.
#include "analyse/window_cost.h"

#include <stdlib.h>

#include "analyse/torch_evaluation.h"
#include "base/fail.h"

enum {
    NEAREST = 24, // on each side
    FEWEST = 4,   // on both sides together
    MOST_INSIDE = 64,
};

static int by_value(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

// The smallest of three, the twelfth of 48.
static int64_t lower_quartile(int64_t *values, size_t count)
{
    size_t place = (count + 1 + 2) / 4; // from 1
    qsort(values, count, sizeof *values, by_value);
    return values[place ? place - 1 : 0];
}

static int64_t middle(int64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : values[count / 2 - 1] / 2 + values[count / 2] / 2;
}

static int64_t length_of(const struct torch_period *step)
{
    return step->end_ns - step->start_ns;
}

// Which steps lie in windows for the most part.
static void mark(const struct torch_periods *steps, const struct torch_periods *windows,
                 bool *is_inside)
{
    size_t at = 0;
    for (size_t i = 0; i < steps->count; i++) {
        int64_t middle_ns = steps->rows[i].start_ns + length_of(&steps->rows[i]) / 2;
        while (at < windows->count && windows->rows[at].end_ns <= middle_ns)
            at++;
        is_inside[i] = at < windows->count && windows->rows[at].start_ns <= middle_ns;
    }
}

// Lengths of the steps outside that are nearest to [from, behind).
static size_t take_nearest(const struct torch_periods *steps, const bool *is_inside, size_t from,
                           size_t behind, int64_t *out)
{
    size_t count = 0, before = 0, after = 0;
    for (size_t i = from; i > 1 && before < NEAREST; i--)
        if (!is_inside[i - 1]) {
            out[count++] = length_of(&steps->rows[i - 1]);
            before++;
        }
    for (size_t i = behind; i + 1 < steps->count && after < NEAREST; i++)
        if (!is_inside[i]) {
            out[count++] = length_of(&steps->rows[i]);
            after++;
        }
    return count;
}

// What a step of one row of steps inside took more than its surroundings. False:
// too few are near.
static bool compare_row(const struct torch_periods *steps, const bool *is_inside, size_t from,
                        size_t behind, int64_t *ret_more_ns)
{
    int64_t outside[2 * NEAREST], inside[MOST_INSIDE];
    size_t count = take_nearest(steps, is_inside, from, behind, outside);
    if (count < FEWEST)
        return false;
    for (size_t i = from; i < behind; i++)
        inside[i - from] = length_of(&steps->rows[i]);
    *ret_more_ns = lower_quartile(inside, behind - from) - lower_quartile(outside, count);
    return true;
}

// Compares row by row. Long rows are cut, so that each part is compared with
// what is near to it.
static size_t compare_rows(struct window_cost *cost, const struct torch_periods *steps,
                           const bool *is_inside, int64_t *ret_more_ns)
{
    size_t rows = 0;
    for (size_t from = 1, to; from + 1 < steps->count; from = to) {
        for (to = from; to + 1 < steps->count && is_inside[to] && to - from < MOST_INSIDE; to++)
            ;
        cost->inside += to - from;
        cost->outside += to == from;
        if (to == from)
            to++;
        else
            rows += compare_row(steps, is_inside, from, to, &ret_more_ns[rows]);
    }
    return rows;
}

int window_cost_find(struct window_cost *cost, const struct torch_periods *steps,
                     const struct torch_periods *windows)
{
    bool *is_inside = malloc((steps->count + 1) * sizeof *is_inside);
    int64_t *more_ns = malloc((steps->count + 1) * sizeof *more_ns);
    int status = GAIT_OK;
    *cost = (struct window_cost){.ns = 0};
    if (is_inside && more_ns) {
        mark(steps, windows, is_inside);
        size_t rows = compare_rows(cost, steps, is_inside, more_ns);
        int64_t usual_ns = rows ? middle(more_ns, rows) : 0;
        cost->is_known = rows > 0;
        cost->ns = usual_ns > 0 ? (uint64_t)usual_ns * cost->inside : 0;
    } else {
        status = fail(GAIT_ERR_MEMORY, "no memory for %zu steps", steps->count);
    }
    free(is_inside);
    free(more_ns);
    return status;
}
