// SPDX-License-Identifier: Apache-2.0
#include "analyse/device/device_run.h"

#include <stdlib.h>

#include "analyse/device/activity.h"
#include "base/fail.h"
#include "facts/facts.h"
#include "load/shard_owner.h"
#include "vocabulary/metadata.h"

// --- what of the chosen times the devices have -------------------------------------------

// Steps and phases count as they are, as a step without work is idle all the time. A time of day
// counts between the first and the last work of a window, as the whole of a rank does.
struct spans {
    const struct gait_trace *trace;
    uint8_t *kinds;
    struct interval *rows; // of each shard, from its first work to the end of its last
};

static int see_work(const struct gait_batch *batch, void *context)
{
    const struct spans *spans = context;
    struct gait_track_info track;
    const int status = gait_trace_track(spans->trace, batch->track, &track);
    for (size_t i = 0; i < batch->rows && !status; i++) {
        struct interval *span = &spans->rows[track.shard];
        const int64_t start_ns = batch->start_ns[i];
        int64_t end_ns;
        if (spans->kinds[batch->site[i]] >= LANE_NONE || batch->duration_ns[i] < 0 ||
            __builtin_add_overflow(start_ns, batch->duration_ns[i], &end_ns))
            continue;
        span->start_ns = start_ns < span->start_ns ? start_ns : span->start_ns;
        span->end_ns = end_ns > span->end_ns ? end_ns : span->end_ns;
    }
    return status;
}

static int find_spans(struct spans *spans, struct gait_trace *trace)
{
    const struct gait_query query = {.size = sizeof query, .kinds = 1u << GAIT_KIND_SPAN};
    spans->trace = trace;
    spans->rows = malloc(((size_t)trace->run.shard_count + 1) * sizeof *spans->rows);
    if (!spans->rows)
        return fail(GAIT_ERR_MEMORY, "no memory for %u files", trace->run.shard_count);
    for (uint32_t i = 0; i < trace->run.shard_count; i++)
        spans->rows[i] = (struct interval){INT64_MAX, INT64_MIN};
    const int status = activities_find(trace, &spans->kinds);
    return status ? status
                  : gait_scan(trace, &query,
                              GAIT_COLUMN_START | GAIT_COLUMN_DURATION | GAIT_COLUMN_SITE, see_work,
                              spans);
}

// Of a recorded run devices are known in some steps alone.
static int leave_known(const struct device_run *run, uint32_t shard)
{
    struct intervals known = {.count = 0};
    size_t count;
    const struct recorded_step *steps = recorded_steps_of(&run->turns.recorded, shard, &count);
    int status = GAIT_OK;
    for (size_t i = 0; i < count && !status; i++)
        if (steps[i].has_devices)
            status = intervals_add(&known, steps[i].step.start_ns, steps[i].step.end_ns);
    intervals_join(&known);
    if (!status)
        status = intervals_intersect(&run->times[shard], &known);
    intervals_finish(&known);
    return status;
}

static int find_times(struct device_run *run, struct gait_trace *trace)
{
    const struct chosen *chosen = run->chosen;
    struct spans spans = {.rows = NULL};
    const uint32_t count = trace->run.shard_count;
    run->times = calloc((size_t)count + 1, sizeof *run->times);
    if (!run->times)
        return fail(GAIT_ERR_MEMORY, "no memory for %u files", count);
    run->shard_count = count;
    int status = chosen->is_of_time_alone ? find_spans(&spans, trace) : GAIT_OK;
    for (uint32_t i = 0; i < count && !status; i++) {
        const struct intervals *whole = &chosen->times[i], none = {.count = 0};
        if (chosen->is_of_time_alone)
            status = intervals_add(&run->times[shard_owner(trace, i)], spans.rows[i].start_ns,
                                   spans.rows[i].end_ns);
        else
            status = intervals_subtract(&run->times[i], whole, &none);
        if (!status && !chosen->is_of_time_alone && !gait_trace_metadata(trace, i, meta.source))
            status = leave_known(run, i);
    }
    for (uint32_t i = 0; i < run->shard_count; i++) {
        intervals_join(&run->times[i]);
        intervals_cut(&run->times[i], chosen->from_ns, chosen->to_ns);
    }
    free(spans.rows);
    free(spans.kinds);
    return status;
}

// --- all ranks ---------------------------------------------------------------------------

int device_run_ask(struct device_run *run, struct gait_trace *trace, struct fact_ask *ret_asks)
{
    ret_asks[0] = (struct fact_ask){&breakdown_consumer, run};
    ret_asks[1] = (struct fact_ask){&turns_consumer, &run->turns};
    const int status = run->chosen ? find_times(run, trace) : GAIT_OK;
    run->turns.times = run->chosen && run->chosen->cuts_steps ? run->times : NULL;
    return status;
}

int device_run_make(struct device_run *run, struct gait_trace *trace, const struct chosen *chosen)
{
    const bool is_named = recorded_steps_are_named(trace);
    struct recorded_steps *recorded = &run->turns.recorded;
    struct fact_ask asks[DEVICE_RUN_ASKS];
    *run = (struct device_run){.chosen = chosen, .turns.chosen = chosen};
    int status = is_named ? GAIT_OK : recorded_steps_find(recorded, trace, chosen, NULL, 0);
    if (!status)
        status = device_run_ask(run, trace, asks);
    if (!status)
        status = is_named ? recorded_steps_find(recorded, trace, chosen, asks, DEVICE_RUN_ASKS)
                          : facts_run(trace, asks, DEVICE_RUN_ASKS);
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
    for (uint32_t i = 0; i < run->shard_count; i++)
        intervals_finish(&run->times[i]);
    free(run->times);
    turns_finish(&run->turns);
    *run = (struct device_run){.count = 0};
}
