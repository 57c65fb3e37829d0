// SPDX-License-Identifier: Apache-2.0
// `gait export --format parquet`: a file for each process, in folders that tell run and rank
// as Hive's partitions do: run=NAME/rank=N/part-0.parquet. Where a process has no rank, all lie
// in run=NAME, and their rows tell the rank.
#ifndef GAIT_CLI_PARQUET_FILES_H
#define GAIT_CLI_PARQUET_FILES_H

#include <stdbool.h>

#include "export/exporter.h"

struct parquet_place {
    const char *folder;
    const char *path; // the run as the user typed it: its last part is the run's name
    const struct export_span *spans; // of each shard, or NULL
    bool is_quiet;                   // else standard output gets the names of the files
};

GAIT_CHECK int parquet_files_write(struct gait_trace *trace,
                                   const struct gait_export_options *options,
                                   const struct parquet_place *place);

#endif
