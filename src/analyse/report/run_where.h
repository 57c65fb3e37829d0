// SPDX-License-Identifier: Apache-2.0
// Which lines of the user's code each phase of a PyTorch run spent its time in, as far as samples
// of its training threads tell.
#ifndef GAIT_ANALYSE_RUN_WHERE_H
#define GAIT_ANALYSE_RUN_WHERE_H

#include <stddef.h>

#include "analyse/ledger/phase_times.h"
#include "analyse/stacks/leaf_report.h"
#include "analyse/stacks/stack_set.h"

struct gait_trace;
struct run_report;

struct run_where {
    const char *places[PLACE_COUNT]; // phases and parts of the run in which a thread was
    unsigned place_count;
    struct stack_set set;
    struct leaf_report lines; // by phase, and by part of the run outside of the steps
};

// Without samples, or of another run, there are no lines, and nothing is read.
GAIT_CHECK int run_where_make(struct run_where *where, const struct run_report *report,
                              struct gait_trace *trace);
void run_where_finish(struct run_where *where);

// The lines of the user's code in that phase, by their samples, from 0; NULL: there are no more.
const struct leaf_row *run_where_line(const struct run_where *where, const char *phase,
                                      size_t number);

// All samples of the phase, whosever code they are in.
uint64_t run_where_samples(const struct run_where *where, const char *phase);

#endif
