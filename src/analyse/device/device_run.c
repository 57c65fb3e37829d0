// SPDX-License-Identifier: Apache-2.0
#include "analyse/device/device_run.h"

#include <stdlib.h>

#include "base/array.h"
#include "load/pass/pass.h"
#include "vocabulary/metadata.h"

enum { MOST_RANKS = 1 << 20 };

// Of one shard: its rows while it is read, then what they say.
struct part {
    struct device_rows rows;
    struct breakdown_rank rank;
    uint32_t shard;
    bool is_imported; // a rank then, whatever it has
};

static int begin(void *made, const struct pass_shard *shard, void *answer)
{
    struct part *part = made;
    const struct device_run *run = answer;
    part->shard = shard->shard;
    part->is_imported = gait_trace_metadata(shard->trace, shard->shard, meta.source) != NULL;
    int status = device_rows_init(&part->rows, shard->trace);
    for (size_t i = 0; i < run->recorded.count && !status; i++)
        if (run->recorded.rows[i].shard == shard->shard) {
            part->rows.has_own_steps = true;
            status = device_rows_add_step(&part->rows, &run->recorded.rows[i].step);
        }
    return status;
}

static int add_rows(void *made, const struct gait_batch *batch)
{
    struct part *part = made;
    return device_rows_add(&part->rows, batch);
}

static int end(void *made)
{
    struct part *part = made;
    device_rows_sort(&part->rows);
    int status = breakdown_rank_make(&part->rank, &part->rows);
    part->rank.shard = part->shard;
    device_rows_finish(&part->rows);
    return status;
}

static int merge(void *answer, void *made)
{
    struct device_run *run = answer;
    struct part *part = made;
    const struct array_shape shape = {sizeof *run->ranks, MOST_RANKS};
    if (!part->is_imported && !part->rank.has_device && !part->rank.step_count)
        return GAIT_OK;
    int status = array_reserve((void **)&run->ranks, &run->capacity, run->count + 1, shape);
    if (!status) {
        run->ranks[run->count++] = part->rank;
        part->rank = (struct breakdown_rank){.steps = NULL};
    }
    return status;
}

static void drop(void *made)
{
    struct part *part = made;
    device_rows_finish(&part->rows);
    breakdown_rank_finish(&part->rank);
}

static const struct analysis device_analysis = {
    .name = "devices",
    .kinds = DEVICE_ROWS_KINDS,
    .columns = DEVICE_ROWS_COLUMNS,
    .has_owned = true,
    .part_bytes = sizeof(struct part),
    .begin = begin,
    .rows = add_rows,
    .end = end,
    .merge = merge,
    .drop = drop,
};

int device_run_make(struct device_run *run, struct gait_trace *trace)
{
    const struct pass_ask ask = {&device_analysis, run};
    *run = (struct device_run){.count = 0};
    int status = recorded_steps_find(&run->recorded, trace);
    if (!status)
        status = pass_run(trace, &ask, 1);
    if (status)
        device_run_finish(run);
    return status;
}

void device_run_finish(struct device_run *run)
{
    if (!run)
        return;
    for (size_t i = 0; i < run->count; i++)
        breakdown_rank_finish(&run->ranks[i]);
    free(run->ranks);
    recorded_steps_finish(&run->recorded);
    *run = (struct device_run){.count = 0};
}
