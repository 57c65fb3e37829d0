// SPDX-License-Identifier: Apache-2.0
// `gait export --format itwinai`: a run as the folder that itwinai's scalability report reads.
#ifndef GAIT_CLI_ITWINAI_FILES_H
#define GAIT_CLI_ITWINAI_FILES_H

#include <gait/error.h>

struct gait_trace;

// Writes epoch-time, gpu-energy-data and computation-data below the folder, each where the run
// has it, and says the names of the files on standard output. Fails where it has none of them.
GAIT_CHECK int itwinai_files_write(const char *folder, struct gait_trace *trace);

#endif
