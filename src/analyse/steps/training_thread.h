// SPDX-License-Identifier: Apache-2.0
// All that is worked out of one thread's facts, in the order in which one
// follows from the other: facts, loops, evaluation, steps.
#ifndef GAIT_ANALYSE_TRAINING_THREAD_H
#define GAIT_ANALYSE_TRAINING_THREAD_H

#include "analyse/steps/hook_facts.h"
#include "analyse/steps/torch_loops.h"
#include "analyse/steps/torch_steps.h"
#include "analyse/time/intervals.h"

struct inventory;

struct training_thread {
    struct hook_facts facts;
    struct torch_loops loops;
    struct intervals evaluation;
    struct torch_steps steps;
};

void training_thread_init(struct training_thread *thread);
void training_thread_finish(struct training_thread *thread); // takes NULL and a zeroed struct

// Works out the rest from the facts, which are in order.
GAIT_CHECK int training_thread_derive(struct training_thread *thread);

// The same with the facts of a thread of the trace, whose survey was made.
GAIT_CHECK int training_thread_read(struct training_thread *thread, struct gait_trace *trace,
                                    const struct inventory *survey, uint32_t track);

#endif
