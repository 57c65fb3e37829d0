// SPDX-License-Identifier: Apache-2.0
// A lane is either inside of its next interval or before it, so that one bound of it is the
// next to come; the earliest of these bounds ends the present state.
#include "analyse/time/sweep_states.h"

#include "base/invariant.h"

struct lane {
    const struct interval *next, *behind;
    int64_t bound_ns; // where the lane changes next
};

static int64_t bound_of(const struct lane *lane, bool is_inside)
{
    if (lane->next == lane->behind)
        return INT64_MAX;
    return is_inside ? lane->next->end_ns : lane->next->start_ns;
}

void sweep_states(const struct sweep_lanes *lanes, struct interval window, uint64_t *out)
{
    struct lane row[SWEEP_LANES];
    int64_t at_ns = window.start_ns;
    unsigned mask = 0;
    for (unsigned i = 0; i < lanes->count; i++) {
        const struct intervals *set = lanes->lanes[i];
        const size_t from = intervals_from(set, at_ns);
        row[i] = (struct lane){0};
        if (set->count) // a lane without any has no rows to point into
            row[i] = (struct lane){set->rows + from, set->rows + set->count, 0};
        const bool is_inside = from < set->count && row[i].next->start_ns <= at_ns;
        mask |= (unsigned)is_inside << i;
        row[i].bound_ns = bound_of(&row[i], is_inside);
    }
    GAIT_ASSERT(lanes->count <= SWEEP_LANES);
    while (at_ns < window.end_ns) {
        int64_t end_ns = window.end_ns;
        for (unsigned i = 0; i < lanes->count; i++)
            end_ns = row[i].bound_ns < end_ns ? row[i].bound_ns : end_ns;
        GAIT_ASSERT(end_ns > at_ns && mask < 1u << lanes->count); // each state lasts
        out[mask] += (uint64_t)end_ns - (uint64_t)at_ns;
        at_ns = end_ns;
        for (unsigned i = 0; i < lanes->count; i++) {
            if (row[i].bound_ns != at_ns || row[i].next == row[i].behind)
                continue;
            row[i].next += mask >> i & 1;
            GAIT_ASSERT(row[i].next <= row[i].behind);
            mask ^= 1u << i;
            row[i].bound_ns = bound_of(&row[i], mask >> i & 1);
        }
    }
}
