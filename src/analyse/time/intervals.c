// SPDX-License-Identifier: Apache-2.0
#include "analyse/time/intervals.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/time/lower_bound.h"
#include "base/array.h"
#include "base/invariant.h"

enum { MOST_INTERVALS = 1 << 28, FEW = 256 };

void intervals_init(struct intervals *set)
{
    *set = (struct intervals){.count = 0};
}

void intervals_finish(struct intervals *set)
{
    if (!set)
        return;
    free(set->rows);
    intervals_init(set);
}

int intervals_add(struct intervals *set, int64_t start_ns, int64_t end_ns)
{
    if (start_ns >= end_ns)
        return GAIT_OK;
    return ARRAY_ADD(set->rows, set->count, set->capacity, MOST_INTERVALS,
                     &(struct interval){start_ns, end_ns});
}

int intervals_widen(struct intervals *set, int64_t start_ns, int64_t end_ns)
{
    struct interval *last = set->count ? &set->rows[set->count - 1] : NULL;
    if (!last || start_ns < last->start_ns || start_ns > last->end_ns)
        return intervals_add(set, start_ns, end_ns);
    last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
    return GAIT_OK;
}

// --- into order -----------------------------------------------------------------------

ARRAY_BY1(by_start, struct interval, start_ns)

static bool is_in_order(const struct intervals *set)
{
    for (size_t i = 1; i < set->count; i++)
        if (set->rows[i].start_ns < set->rows[i - 1].start_ns)
            return false;
    return true;
}

enum { RADIX_BITS = 11, RADIX_DIGITS = 1 << RADIX_BITS };

// One digit of the starts, counted from the earliest.
static void sort_digit(const struct interval *from, struct interval *to, size_t count,
                       uint64_t earliest, unsigned shift)
{
    size_t places[RADIX_DIGITS] = {0}, next = 0;
    for (size_t i = 0; i < count; i++)
        places[((uint64_t)from[i].start_ns - earliest) >> shift & (RADIX_DIGITS - 1)]++;
    for (size_t i = 0; i < RADIX_DIGITS; i++) {
        size_t rows = places[i];
        places[i] = next;
        next += rows;
    }
    for (size_t i = 0; i < count; i++)
        to[places[((uint64_t)from[i].start_ns - earliest) >> shift & (RADIX_DIGITS - 1)]++] =
            from[i];
}

// Many rows, by the digits of their starts; false without memory for a second row of them.
static bool sort_by_digits(struct intervals *set)
{
    struct interval *spare = malloc(set->count * sizeof *spare), *from = set->rows, *to = spare;
    int64_t first = INT64_MAX, last = INT64_MIN;
    if (!spare)
        return false;
    for (size_t i = 0; i < set->count; i++) {
        first = set->rows[i].start_ns < first ? set->rows[i].start_ns : first;
        last = set->rows[i].start_ns > last ? set->rows[i].start_ns : last;
    }
    const uint64_t range = (uint64_t)last - (uint64_t)first;
    for (unsigned shift = 0; shift < 64 && range >> shift; shift += RADIX_BITS) {
        sort_digit(from, to, set->count, (uint64_t)first, shift);
        struct interval *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != set->rows)
        memcpy(set->rows, from, set->count * sizeof *from);
    GAIT_ASSERT(is_in_order(set));
    free(spare);
    return true;
}

void intervals_join(struct intervals *set)
{
    size_t kept = 0;
    if (!set->count)
        return;
    if (!is_in_order(set) && (set->count < FEW || !sort_by_digits(set)))
        qsort(set->rows, set->count, sizeof *set->rows, by_start);
    GAIT_ASSERT(is_in_order(set));
    for (size_t i = 1; i < set->count; i++) {
        struct interval *last = &set->rows[kept];
        if (set->rows[i].start_ns > last->end_ns)
            set->rows[++kept] = set->rows[i];
        else if (set->rows[i].end_ns > last->end_ns)
            last->end_ns = set->rows[i].end_ns;
    }
    GAIT_ASSERT(kept < set->count);
    set->count = kept + 1;
}

// --- of joined sets -------------------------------------------------------------------

size_t intervals_from(const struct intervals *set, int64_t at_ns)
{
    if (!set->count || at_ns == INT64_MAX)
        return set->count;
    return lower_bound(&set->rows->end_ns, set->count, sizeof *set->rows, at_ns + 1);
}

bool intervals_cover(const struct intervals *set, int64_t at_ns)
{
    size_t place = intervals_from(set, at_ns);
    return place < set->count && set->rows[place].start_ns <= at_ns;
}

void intervals_cut(struct intervals *set, int64_t since_ns, int64_t until_ns)
{
    size_t kept = 0;
    for (size_t i = intervals_from(set, since_ns); i < set->count; i++) {
        struct interval row = set->rows[i];
        row.start_ns = row.start_ns < since_ns ? since_ns : row.start_ns;
        row.end_ns = row.end_ns > until_ns ? until_ns : row.end_ns;
        if (row.start_ns >= row.end_ns)
            break;
        set->rows[kept++] = row;
    }
    GAIT_ASSERT(kept <= set->count);
    set->count = kept;
}

int intervals_subtract(struct intervals *set, const struct intervals *whole,
                       const struct intervals *minus)
{
    int status = GAIT_OK;
    for (size_t i = 0, next = 0; i < whole->count && !status; i++) {
        int64_t at_ns = whole->rows[i].start_ns;
        const int64_t end_ns = whole->rows[i].end_ns;
        while (next < minus->count && minus->rows[next].end_ns <= at_ns)
            next++;
        for (size_t j = next; j < minus->count && minus->rows[j].start_ns < end_ns && !status;
             j++) {
            status = intervals_add(set, at_ns, minus->rows[j].start_ns);
            at_ns = minus->rows[j].end_ns;
        }
        if (!status)
            status = intervals_add(set, at_ns, end_ns);
    }
    return status;
}

uint64_t intervals_total(const struct intervals *set)
{
    uint64_t total = 0;
    for (size_t i = 0; i < set->count; i++)
        total += (uint64_t)set->rows[i].end_ns - (uint64_t)set->rows[i].start_ns;
    return total;
}

int intervals_intersect(struct intervals *set, const struct intervals *other)
{
    struct intervals rest = {.count = 0}, both = {.count = 0};
    int status = intervals_subtract(&rest, set, other);
    if (!status)
        status = intervals_subtract(&both, set, &rest);
    intervals_finish(&rest);
    intervals_finish(set);
    *set = both;
    return status;
}
