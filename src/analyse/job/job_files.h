// SPDX-License-Identifier: Apache-2.0
// The files of an imported job, by the rank that each says it is, and how many ranks the job had.
#ifndef GAIT_ANALYSE_JOB_FILES_H
#define GAIT_ANALYSE_JOB_FILES_H

#include <stddef.h>
#include <stdint.h>

#include <gait/trace.h>

struct job_file {
    int64_t rank;
    const char *source; // as JSON
};

struct job_files {
    struct job_file *rows; // in order of rank, then of source
    size_t count, ranks;   // ranks: that are told apart
    uint64_t missing;      // of the job's that are not here, unless the reader left some out
};

GAIT_CHECK int job_files_init(struct job_files *files, const struct gait_trace *trace);
void job_files_finish(struct job_files *files); // takes a zeroed struct

#endif
