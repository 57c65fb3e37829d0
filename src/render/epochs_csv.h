// SPDX-License-Identifier: Apache-2.0
// The epochs of a run as itwinai's tracker of epoch times writes them, for its scalability
// report and for whatever reads CSV.
#ifndef GAIT_RENDER_EPOCHS_CSV_H
#define GAIT_RENDER_EPOCHS_CSV_H

#include <stdio.h>

struct gait_trace;
struct run_report;

// What its file is called: "epochtime_ddp_2N.csv", of two nodes.
void epochs_csv_name(char *out, size_t room, const struct run_report *report,
                     const struct gait_trace *trace);

// epoch_id (from 1), time in seconds, name of the strategy, number of nodes; of whole epochs.
// The run has epochs.
void epochs_csv_put(FILE *out, const struct run_report *report, const struct gait_trace *trace);

#endif
