// SPDX-License-Identifier: Apache-2.0
// What happened since the last round: whether the loop was left (evaluation,
// another loop or a save began), and where the work of the next round begins.
#ifndef GAIT_ANALYSE_ROUND_GAP_H
#define GAIT_ANALYSE_ROUND_GAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hook_fact;
struct torch_loops;
struct intervals;

struct round_gap {
    const struct torch_loops *loops;
    const struct intervals *evaluation;
    size_t period;    // evaluations that began before the fact at hand
    int64_t free_ns;  // when the last evaluation, save or other loop is over
    int64_t work_ns;  // the first work after that, INT64_MAX: none yet
    bool is_cut;      // the loop was left
    bool is_learning; // a backward ran: the next round has begun, nothing cuts it
};

void round_gap_init(struct round_gap *gap, const struct torch_loops *loops,
                    const struct intervals *evaluation);

// Takes the facts in order.
void round_gap_take(struct round_gap *gap, const struct hook_fact *fact);

// A round is complete: what follows is the next gap.
void round_gap_restart(struct round_gap *gap);

// Whether the fact lies outside of evaluation, saves and other loops.
bool round_gap_is_free(const struct round_gap *gap, const struct hook_fact *fact);

#endif
