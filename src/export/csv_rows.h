// SPDX-License-Identifier: Apache-2.0
// One row an event, RFC 4180: fields that need it are quoted, lines end in CRLF.
#ifndef GAIT_EXPORT_CSV_ROWS_H
#define GAIT_EXPORT_CSV_ROWS_H

#include <gait/error.h>

struct export_run;
GAIT_CHECK int csv_rows_write(const struct export_run *run);

#endif
