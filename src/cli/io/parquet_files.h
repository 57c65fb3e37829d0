// SPDX-License-Identifier: Apache-2.0
// `gait export --format parquet`: a file for each process, in folders that tell run and rank
// as Hive's partitions do: run=NAME/rank=N/part-0.parquet.
#ifndef GAIT_CLI_PARQUET_FILES_H
#define GAIT_CLI_PARQUET_FILES_H

#include <gait/export.h>

// `path` is the run as the user typed it: its last part is the run's name.
GAIT_CHECK int parquet_files_write(struct gait_trace *trace,
                                   const struct gait_export_options *options, const char *folder,
                                   const char *path);

#endif
