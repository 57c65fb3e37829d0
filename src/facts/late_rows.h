// SPDX-License-Identifier: Apache-2.0
// Rows of devices that began before the call which launched them, as they do by a clock that is
// ahead: the call may stand in a later slice. They wait for it, so that a sum over rows is the
// same wherever slices end.
//
//     late.settle = ..., late.context = ..., late.row_bytes = sizeof(what begins with a late_row)
//     late_rows_add(&late, slice->launches, &row)   settles it at once if its call is known
//     late_rows_look(&late, slice)                  at the end of each slice
#ifndef GAIT_FACTS_LATE_ROWS_H
#define GAIT_FACTS_LATE_ROWS_H

#include "facts/launches.h"

struct late_row { // what is kept of a row begins with it
    uint64_t link;
    int64_t start_ns;
    uint32_t shard;
};

typedef int late_settle(void *context, const struct late_row *row, const struct launch *launch);

struct late_rows {       // zeroed but for these four: none waits
    late_settle *settle; // once a row; launch: NULL if it is not on record
    void *context;
    size_t row_bytes;
    bool waits_for_slice; // settle() must know what all calls of the slice did
    char *rows;
    size_t count, capacity;
};

GAIT_CHECK int late_rows_add(struct late_rows *late, const struct launches *launches,
                             const struct late_row *row);
GAIT_CHECK int late_rows_look(struct late_rows *late, const struct fact_slice *slice);
void late_rows_finish(struct late_rows *late);

// Since when a row counts: work of a device from its call on.
static inline int64_t late_row_counts_ns(const struct late_row *row, const struct launch *launch)
{
    return launch ? launch->start_ns : row->start_ns;
}

#endif
