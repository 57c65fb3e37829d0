// SPDX-License-Identifier: Apache-2.0
// The steps of all ranks, brought together: the job's step is the slowest
// rank's, and so is its ledger.
#ifndef GAIT_ANALYSE_JOB_STEPS_H
#define GAIT_ANALYSE_JOB_STEPS_H

#include "analyse/report/torch_report.h"
#include "analyse/steps/step_curve.h"
#include "analyse/steps/steps.h"
#include "base/arena.h"

struct torch_ranks;

struct job_steps {
    struct arena *arena;        // what is kept beyond comes from here
    struct torch_report *torch; // ranks, totals, epochs are filled in
    struct torch_ranks *ranks;  // settled
    struct steps_summary steps;
    struct step_curve curve; // of each step, less its evaluation and checkpoints
    uint32_t rank_count;     // a rank that began anew counts once
    uint64_t total_ns;
};

// Fills in what the struct and its report say of steps.
GAIT_CHECK int job_steps_make(struct job_steps *job);

// For a run without steps: the main track from start to end, as one window.
GAIT_CHECK int job_steps_make_whole_run(struct job_steps *job, const struct interval *life);

#endif
