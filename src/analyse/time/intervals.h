// SPDX-License-Identifier: Apache-2.0
// Sets of times: half-open intervals, in order and apart from each other once they are
// joined. What a set of unknown order was given is joined before it is asked anything.
//
//     intervals_add(&set, start_ns, end_ns) ...
//     intervals_join(&set);
//     if (intervals_cover(&set, at_ns)) ...
//     intervals_finish(&set);
#ifndef GAIT_ANALYSE_INTERVALS_H
#define GAIT_ANALYSE_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

static inline int64_t time_later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t time_earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

struct interval {
    int64_t start_ns, end_ns;
};

struct intervals {
    struct interval *rows; // once joined: in order, apart from each other
    size_t count, capacity;
};

void intervals_init(struct intervals *set);
void intervals_finish(struct intervals *set); // takes NULL and a zeroed struct

// What is not longer than nothing is not added.
GAIT_CHECK int intervals_add(struct intervals *set, int64_t start_ns, int64_t end_ns);
// For a set that is joined later: what begins in the row that was added last widens that row. Of
// ops in ops the outermost are kept.
GAIT_CHECK int intervals_widen(struct intervals *set, int64_t start_ns, int64_t end_ns);

// Brings the intervals into order and joins those that touch.
void intervals_join(struct intervals *set);

// --- of joined sets -------------------------------------------------------------------

bool intervals_cover(const struct intervals *set, int64_t at_ns);

// The first interval that ends after that time.
size_t intervals_from(const struct intervals *set, int64_t at_ns);

// Leaves what lies within [since, until).
void intervals_cut(struct intervals *set, int64_t since_ns, int64_t until_ns);

// Adds to `*set`, which is empty or joined and ends no later, what of `whole` is not in `minus`.
GAIT_CHECK int intervals_subtract(struct intervals *set, const struct intervals *whole,
                                  const struct intervals *minus);

// Leaves of the set what is in the other one, too.
GAIT_CHECK int intervals_intersect(struct intervals *set, const struct intervals *other);

uint64_t intervals_total(const struct intervals *set);

#endif
