// SPDX-License-Identifier: Apache-2.0
// What is at hand while the steps of a job are gathered: the facts of one rank's
// thread at a time, and the rows of all ranks so far.
#ifndef GAIT_ANALYSE_TORCH_GATHERING_H
#define GAIT_ANALYSE_TORCH_GATHERING_H

#include "analyse/job/torch_job.h"
#include "analyse/ledger/torch_ledger.h"
#include "analyse/steps/steps.h"
#include "analyse/steps/torch_epochs.h"
#include "analyse/steps/training_thread.h"
#include "base/buffer.h"

struct step_note;
struct torch_rank;

// Who wants to see each step of each rank, and the pieces of it, as they are counted:
// all steps of a rank, then all pieces.
struct torch_watcher {
    void (*see_step)(const struct torch_rank *rank, const struct step_row *step, void *context);
    void (*see_piece)(const struct torch_rank *rank, const struct step_row *step,
                      const struct torch_piece *piece, void *context);
    void *context;
};

struct torch_gathering {
    struct torch_job *job;
    struct gait_trace *trace;
    struct buffer rows;            // of struct step_row
    struct training_thread thread; // the rank's at hand
    uint32_t track;                // its thread, or UINT32_MAX
    struct step_note *notes;       // of a row, see torch_job.c
    struct torch_epochs epochs;
    const struct torch_watcher *watcher; // or NULL
};

void torch_gathering_init(struct torch_gathering *gathering, struct torch_job *job,
                          struct gait_trace *trace);
void torch_gathering_finish(struct torch_gathering *gathering);

// Has the facts of that thread at hand.
GAIT_CHECK int torch_gathering_read(struct torch_gathering *gathering, uint32_t track);

// Rows of one thread, brought into order, become windows.
GAIT_CHECK int torch_gathering_windows(struct step_row *rows, size_t count,
                                       struct intervals *windows);

// Splits windows of the thread at hand into phases.
GAIT_CHECK int torch_gathering_split(const struct torch_gathering *gathering,
                                     const struct intervals *windows, torch_ledger_visit *visit,
                                     void *context);

int torch_gathering_no_memory(void);

// For qsort: rows by thread, then by start.
int torch_gathering_order(const void *left, const void *right);

#endif
