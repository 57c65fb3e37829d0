// SPDX-License-Identifier: Apache-2.0
// The steps as the schedule of windows saw them, each with the CPU time that its
// thread used, and whether it was a step like most. They are not numbered like
// the report's steps; only what windows cost is asked of them.
#ifndef GAIT_ANALYSE_STEP_CLOCK_H
#define GAIT_ANALYSE_STEP_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/trace.h>

struct hook_facts;
struct intervals;
struct torch_phases;

struct clocked_step {
    int64_t start_ns, end_ns, cpu_ns;
    uint64_t waits; // times the thread gave up the processor itself
    bool is_odd;    // it saved, compiled, evaluated, logged, or made an iterator
};

struct step_clock {
    struct clocked_step *rows; // in order
    size_t count, capacity;
};

// Adds what counters of one thread say of its steps (`torch/cpu`, `torch/waits`).
GAIT_CHECK int step_clock_add(struct step_clock *clock, const struct torch_phases *phases,
                              const struct gait_batch *batch);

// When all were added: brings them into order and gives each step its start.
void step_clock_settle(struct step_clock *clock);
void step_clock_finish(struct step_clock *clock); // takes a zeroed struct

// Says of each step whether it is odd; facts in order.
void step_clock_mark(struct step_clock *clock, const struct hook_facts *facts);

// Steps that somebody else found, without CPU time (-1).
GAIT_CHECK int step_clock_take(struct step_clock *clock, const struct intervals *steps);

#endif
