// SPDX-License-Identifier: Apache-2.0
// What having ops on record cost a thread: its steps in windows against the
// steps outside that are nearest. No figure per op would do: most of the cost
// is torch's own, and depends on what calls the op.
#ifndef GAIT_ANALYSE_WINDOW_COST_H
#define GAIT_ANALYSE_WINDOW_COST_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/error.h>

struct step_clock;
struct intervals;

struct window_cost {
    uint64_t inside, outside; // steps
    bool is_known;            // there were enough outside
    uint64_t each_ns;         // of a step inside, as compared
};

// Steps and windows are in order. The first and the last step are left out:
// one warms up, the other lasts until the program ends.
GAIT_CHECK int window_cost_find(struct window_cost *cost, const struct step_clock *steps,
                                const struct intervals *windows);

#endif
