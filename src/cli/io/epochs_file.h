// SPDX-License-Identifier: Apache-2.0
// `gait report --epochs-csv DIR`: the epochs as a file of itwinai's form.
#ifndef GAIT_CLI_EPOCHS_FILE_H
#define GAIT_CLI_EPOCHS_FILE_H

#include <gait/error.h>

struct gait_trace;
struct run_report;

// Writes it into the folder, which is made, and says its name on standard output; "-" is
// standard output itself. A file of that name is replaced when the new one is whole.
GAIT_CHECK int epochs_file_write(const char *folder, const struct run_report *report,
                                 const struct gait_trace *trace);

#endif
