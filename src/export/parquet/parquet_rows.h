// SPDX-License-Identifier: Apache-2.0
// Events of one process as a Parquet file: the columns of csv, the rank among them only in runs
// of which a process has none; of the others the folder's name says it.
#ifndef GAIT_EXPORT_PARQUET_ROWS_H
#define GAIT_EXPORT_PARQUET_ROWS_H

#include <stdbool.h>

#include <gait/error.h>

struct export_run;
struct gait_trace;

// Whether a process has no rank: a folder for null has no type, and pyarrow, Ray and Spark refuse
// the run.
bool parquet_rows_have_rank(struct gait_trace *trace);

GAIT_CHECK int parquet_rows_write(const struct export_run *run);

#endif
