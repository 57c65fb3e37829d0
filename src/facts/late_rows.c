// SPDX-License-Identifier: Apache-2.0
#include "facts/late_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

// A recording without calls fills this once, and then each row is settled at once. By a clock that
// is 50 ms ahead 5,000 kernels of 10 us wait.
enum { MOST_LATE = 1 << 14, MOST_OF_SLICE = 1 << 28 };

void late_rows_finish(struct late_rows *late)
{
    free(late->rows);
    late->rows = NULL;
    late->count = late->capacity = 0;
}

int late_rows_add(struct late_rows *late, const struct launches *launches,
                  const struct late_row *row)
{
    const struct array_shape shape = {late->row_bytes, MOST_OF_SLICE};
    const struct launch *launch = launches_find(launches, row->shard, row->link, row->start_ns);
    if (!late->waits_for_slice && (launch || !row->link || late->count >= MOST_LATE))
        return late->settle(late->context, row, launch);
    return array_add((void **)&late->rows, &late->count, &late->capacity, row, shape);
}

int late_rows_look(struct late_rows *late, const struct fact_slice *slice)
{
    const bool is_over = slice->until_ns == INT64_MAX;
    size_t kept = 0;
    int status = GAIT_OK;
    if (!is_over && !slice->launches->slice_calls && !late->waits_for_slice)
        return GAIT_OK;
    for (size_t i = 0; i < late->count && !status; i++) {
        const char *from = late->rows + i * late->row_bytes;
        const struct late_row *row = (const struct late_row *)(const void *)from;
        const struct launch *launch =
            launches_find(slice->launches, row->shard, row->link, row->start_ns);
        if (launch || is_over || !row->link || kept >= MOST_LATE)
            status = late->settle(late->context, row, launch);
        else if (i != kept++)
            memcpy(late->rows + (kept - 1) * late->row_bytes, from, late->row_bytes);
    }
    late->count = kept;
    return status;
}
