// SPDX-License-Identifier: Apache-2.0
// Rows that went through the journal once, told again from where they are kept:
// to a disk that had no room for them, and to snapshots.
#ifndef GAIT_RECORD_REWRITE_NAMES_H
#define GAIT_RECORD_REWRITE_NAMES_H

#include <gait/error.h>

struct recorder;
struct table_writer;

// The program's metadata and the tracks of all writers. The lock is held.
GAIT_CHECK int rewrite_names(const struct recorder *recorder, struct table_writer *tables);

#endif
