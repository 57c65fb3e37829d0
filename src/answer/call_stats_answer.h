// SPDX-License-Identifier: Apache-2.0
// What `gait pstats` answers: for people byte for byte what Python's pstats prints.
#ifndef GAIT_ANSWER_CALL_STATS_ANSWER_H
#define GAIT_ANSWER_CALL_STATS_ANSWER_H

#include "analyse/stacks/call_stats.h"

struct sheet;

void call_stats_answer_put(struct sheet *sheet, const struct call_stats *stats,
                           const struct call_limit *limit);

#endif
