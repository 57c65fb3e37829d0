// SPDX-License-Identifier: Apache-2.0
// Events of one process as a Parquet file: the columns of csv, less the rank, which the
// folder's name says.
#ifndef GAIT_EXPORT_PARQUET_ROWS_H
#define GAIT_EXPORT_PARQUET_ROWS_H

#include <gait/error.h>

struct export_run;

GAIT_CHECK int parquet_rows_write(const struct export_run *run);

#endif
