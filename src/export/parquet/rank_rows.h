// SPDX-License-Identifier: Apache-2.0
// Events of a rank in order of start, each span with what it belongs to: the span around it, the
// call that launched it and the op around that, the step that it began in.
#ifndef GAIT_EXPORT_RANK_ROWS_H
#define GAIT_EXPORT_RANK_ROWS_H

#include <gait/trace.h>

struct export_run;

struct rank_row {
    const struct gait_event *event;
    int64_t row, parent, op, launch; // numbers of spans, no two alike in a run; 0: none
    int64_t step;                    // its number; -1: none
};

typedef int rank_rows_take(void *context, const struct rank_row *row);

// Of the rank that owns that shard. What `take` returns, if not 0, ends it.
GAIT_CHECK int rank_rows_each(const struct export_run *run, uint32_t shard, rank_rows_take *take,
                              void *context);

#endif
