// SPDX-License-Identifier: Apache-2.0
#include "analyse/device/device_run.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/fail.h"

enum { MOST_RANKS = 1 << 20 };

static int add_batch(const struct gait_batch *batch, void *context)
{
    return device_rows_add(context, batch);
}

static int read_shard(struct gait_trace *trace, const uint32_t *tracks, uint32_t count,
                      struct breakdown_rank *ret_rank)
{
    const struct gait_query query = {
        .size = sizeof query, .kinds = DEVICE_ROWS_KINDS, .tracks = tracks, .track_count = count};
    struct device_rows rows;
    int status = device_rows_init(&rows, trace);
    if (!status)
        status = gait_scan(trace, &query, DEVICE_ROWS_COLUMNS, add_batch, &rows);
    if (!status) {
        device_rows_sort(&rows);
        status = breakdown_rank_make(ret_rank, &rows);
    }
    device_rows_finish(&rows);
    return status;
}

static int add_shard(struct device_run *run, struct gait_trace *trace, uint32_t shard,
                     uint32_t *tracks)
{
    const struct array_shape shape = {sizeof *run->ranks, MOST_RANKS};
    struct breakdown_rank rank = {.shard = shard};
    uint32_t count = 0;
    int status = GAIT_OK;
    for (uint32_t i = 0; i < gait_trace_track_count(trace) && !status; i++) {
        struct gait_track_info info;
        status = gait_trace_track(trace, i, &info);
        if (!status && info.shard == shard && !info.internal)
            tracks[count++] = i;
    }
    if (!status && count)
        status = read_shard(trace, tracks, count, &rank);
    if (status || (!rank.has_device && !rank.step_count)) {
        breakdown_rank_finish(&rank);
        return status;
    }
    rank.shard = shard;
    status = array_reserve((void **)&run->ranks, &run->capacity, run->count + 1, shape);
    if (status)
        breakdown_rank_finish(&rank);
    else
        run->ranks[run->count++] = rank;
    return status;
}

int device_run_make(struct device_run *run, struct gait_trace *trace)
{
    const uint32_t count = gait_trace_track_count(trace);
    uint32_t *tracks = malloc((count + 1) * sizeof *tracks);
    int status = GAIT_OK;
    *run = (struct device_run){.count = 0};
    if (!tracks)
        return fail(GAIT_ERR_MEMORY, "no memory for %u tracks", count);
    for (uint32_t i = 0; i < gait_trace_shard_count(trace) && !status; i++)
        status = add_shard(run, trace, i, tracks);
    free(tracks);
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
    *run = (struct device_run){.count = 0};
}
