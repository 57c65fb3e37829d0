// SPDX-License-Identifier: Apache-2.0
// Two tables as itwinai's trainer writes them, for its scalability report: samples of devices,
// and torch's table of averages. The third one is in epochs_csv.h.
#ifndef GAIT_RENDER_ITWINAI_TABLES_H
#define GAIT_RENDER_ITWINAI_TABLES_H

#include <stdio.h>

#include <gait/error.h>

struct energy_run;
struct gait_trace;

struct itwinai_job {
    const char *strategy;
    double workers;
};

// One row a second and GPU, so that power by its nominal interval adds up to the energy that
// was measured. Its utilisation is the mean: no other is kept.
void itwinai_tables_put_devices(FILE *out, const struct energy_run *run,
                                const struct itwinai_job *job);

// Operators with the time of their kernels, and the work of devices by its own names, of all
// ranks: itwinai adds them up, too. *ret_rows: how many.
GAIT_CHECK int itwinai_tables_put_averages(FILE *out, struct gait_trace *trace,
                                           const struct itwinai_job *job, size_t *ret_rows);

#endif
