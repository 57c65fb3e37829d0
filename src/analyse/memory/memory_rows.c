// SPDX-License-Identifier: Apache-2.0
#include "analyse/memory/memory_rows.h"

#include <stdlib.h>

#include "base/array.h"
#include "load/site_role.h"

static int begin(void *part, const struct pass_shard *shard, void *answer)
{
    (void)answer;
    ((struct memory_rows *)part)->trace = shard->trace;
    return GAIT_OK;
}

static int add(struct memory_rows *rows, struct memory_row row)
{
    const struct array_shape shape = {sizeof row, MEMORY_MOST_ROWS + 1};
    if (rows->count > MEMORY_MOST_ROWS)
        return GAIT_OK;
    row.order = (uint32_t)rows->count;
    int status = array_reserve((void **)&rows->rows, &rows->room, rows->count + 1, shape);
    if (!status)
        rows->rows[rows->count++] = row;
    return status;
}

static bool is_window(const struct memory_rows *rows, const struct gait_batch *batch, size_t at)
{
    return !batch->phase[at] && site_role(rows->trace, batch->site[at]) == ROLE_WINDOW;
}

static int take(void *part, const struct gait_batch *batch)
{
    int status = GAIT_OK;
    for (size_t i = 0; i < batch->rows && !status; i++) {
        struct memory_row row = {
            .at_ns = batch->start_ns[i], .site = batch->site[i], .track = batch->track};
        if (batch->kind == GAIT_KIND_MEMORY) {
            row.bytes = batch->value[i];
            row.address = batch->id[i];
        } else if (is_window(part, batch, i))
            row.is_window = true;
        else
            continue;
        status = add(part, row);
    }
    return status;
}

static int merge(void *answer, void *part)
{
    const struct memory_rows *one = part;
    int status = GAIT_OK;
    for (size_t i = 0; i < one->count && !status; i++)
        status = add(answer, one->rows[i]);
    return status;
}

static void drop(void *part)
{
    memory_rows_finish(part);
}

const struct analysis memory_rows_analysis = {
    .name = "memory rows",
    .kinds = 1u << GAIT_KIND_MEMORY | 1u << GAIT_KIND_ASYNC,
    .columns = GAIT_COLUMN_START | GAIT_COLUMN_SITE | GAIT_COLUMN_ID | GAIT_COLUMN_VALUE |
               GAIT_COLUMN_PHASE,
    .part_bytes = sizeof(struct memory_rows),
    .begin = begin,
    .rows = take,
    .merge = merge,
    .drop = drop,
};

static int by_time(const void *left, const void *right)
{
    const struct memory_row *a = left, *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

void memory_rows_sort(struct memory_rows *rows)
{
    if (rows->count)
        qsort(rows->rows, rows->count, sizeof *rows->rows, by_time);
}

void memory_rows_finish(struct memory_rows *rows)
{
    free(rows->rows);
    *rows = (struct memory_rows){.rows = NULL};
}
