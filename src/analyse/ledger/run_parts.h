// SPDX-License-Identifier: Apache-2.0
// Where the whole life of a training process went: its steps, and what lies before,
// between and behind them. The parts sum to the life exactly.
#ifndef GAIT_ANALYSE_RUN_PARTS_H
#define GAIT_ANALYSE_RUN_PARTS_H

#include <stdint.h>

#include <gait/error.h>

enum run_part {
    RUN_START_UP, // until the first step, compiling included
    RUN_STEPS,
    RUN_EVALUATION, // outside of steps
    RUN_CHECKPOINT, // outside of steps
    RUN_BETWEEN,    // what else lies between two steps
    RUN_AFTER,      // what else follows the last one
    RUN_PART_COUNT,
};

extern const char *const run_part_names[RUN_PART_COUNT];

struct run_parts {
    uint64_t total_ns; // of the process, from start to end
    uint64_t parts[RUN_PART_COUNT];
};

struct interval;
struct intervals;
struct torch_piece;
struct training_thread;

// What lies outside of the steps, piece by piece: no part is RUN_STEPS. Not 0 stops.
typedef int run_parts_visit(enum run_part part, const struct torch_piece *piece, void *context);

// `steps` are those of the thread, in order and apart; without any nothing is visited.
GAIT_CHECK int run_parts_each(const struct training_thread *thread, const struct intervals *steps,
                              const struct interval *life, run_parts_visit *visit, void *context);

// Without steps all is 0.
GAIT_CHECK int run_parts_find(struct run_parts *parts, const struct training_thread *thread,
                              const struct intervals *steps, const struct interval *life);

#endif
