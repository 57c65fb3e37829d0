// SPDX-License-Identifier: Apache-2.0
// The steps of one rank, and where the time of each went: those that it marked, else those
// derived from its facts. Its sums are its own, whoever is the slowest.
#ifndef GAIT_ANALYSE_RANK_STEPS_H
#define GAIT_ANALYSE_RANK_STEPS_H

#include "analyse/ledger/torch_ledger.h"
#include "analyse/report/torch_report.h"
#include "analyse/steps/step_clock.h"
#include "analyse/steps/steps.h"
#include "analyse/steps/training_thread.h"
#include "base/fail.h"

// A phase's time in a step; 8 bytes, since there are some six of them a step and rank.
struct step_share {
    uint64_t ns : 58; // nine years
    uint64_t phase : 6;
};

struct rank_steps {
    struct torch_rank rank;
    struct step_row *rows; // rank.steps of them, in order of start; tag: their place here
    struct step_share *shares;
    size_t *first_share;        // of each row, and behind the last one
    struct torch_piece *pieces; // all of them, where they were wished for
    size_t piece_count, piece_capacity;
    bool has_thread;               // until rank_steps_forget()
    struct training_thread thread; // that made them
    struct intervals windows;      // the rows as times; forgotten with the thread
    enum torch_rounds rounds;
};

// What a rank's steps are made of. All of it stays the caller's but `facts`, which are
// moved.
struct rank_source {
    struct torch_rank rank; // who it is
    struct hook_facts facts;
    struct step_row *marked; // steps that it marked, in any order
    size_t marked_count;
    struct step_clock *clock; // settled; may have no rows
    struct interval life;     // of its process
    bool keeps_pieces;
};

GAIT_CHECK int rank_steps_make(struct rank_steps *steps, struct rank_source *source);
void rank_steps_finish(struct rank_steps *steps); // takes NULL and a zeroed struct

// Frees the thread and its windows: rows and shares are enough for a rank among others.
void rank_steps_forget(struct rank_steps *steps);

// The failure of all who keep the steps of a job.
GAIT_CHECK static inline int rank_steps_no_memory(void)
{
    return fail(GAIT_ERR_MEMORY, "no memory for the steps of a job");
}

#endif
