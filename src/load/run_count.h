// SPDX-License-Identifier: Apache-2.0
// What the shards and tracks of a run hold, in numbers.
#ifndef GAIT_LOAD_RUN_COUNT_H
#define GAIT_LOAD_RUN_COUNT_H

#include <gait/error.h>

struct run;

// Fills the info of every shard and the counts of every track from headers,
// metadata and drop rows.
GAIT_CHECK int run_count(struct run *run);

#endif
