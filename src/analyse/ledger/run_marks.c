// SPDX-License-Identifier: Apache-2.0
// Each shard writes the places of its own tracks; only its steps are merged.
#include "analyse/ledger/run_marks.h"

#include <stdlib.h>

#include "analyse/steps/steps.h"
#include "base/fail.h"

enum { MAX_STEPS = 1 << 24 };

struct part {
    struct run_marks *marks;
    struct buffer steps; // of struct step_row
    uint64_t open_steps;
};

static int no_memory(void)
{
    return fail(GAIT_ERR_MEMORY, "no memory for a report");
}

// Processes without a rank are each a rank of their own, beyond the others.
static int read_ranks(struct run_marks *marks, const struct gait_trace *trace, uint32_t tracks)
{
    for (uint32_t i = 0; i < tracks; i++) {
        struct gait_track_info track;
        struct gait_shard_info shard;
        int status = gait_trace_track(trace, i, &track);
        if (!status)
            status = gait_trace_shard(trace, track.shard, &shard);
        if (status)
            return status;
        const bool has_rank = shard.rank >= 0 && shard.rank < INT32_MAX;
        marks->rank_of_track[i] = has_rank ? (uint32_t)shard.rank : (1u << 31) + track.shard;
        marks->end_ns[i] = shard.end_ns;
    }
    return GAIT_OK;
}

int run_marks_init(struct run_marks *marks, const struct gait_trace *trace)
{
    const uint32_t tracks = gait_trace_track_count(trace);
    const size_t room = (size_t)tracks + 1;
    *marks = (struct run_marks){.busy_ns = calloc(room, sizeof *marks->busy_ns)};
    buffer_init(&marks->steps, MAX_STEPS * sizeof(struct step_row));
    marks->rank_of_track = calloc(room, sizeof *marks->rank_of_track);
    marks->end_ns = calloc(room, sizeof *marks->end_ns);
    if (!marks->busy_ns || !marks->rank_of_track || !marks->end_ns)
        return no_memory();
    return read_ranks(marks, trace, tracks);
}

void run_marks_finish(struct run_marks *marks)
{
    if (!marks)
        return;
    buffer_finish(&marks->steps);
    free(marks->busy_ns);
    free(marks->rank_of_track);
    free(marks->end_ns);
    *marks = (struct run_marks){.busy_ns = NULL};
}

static int begin(void *opaque, const struct pass_shard *shard, void *answer)
{
    struct part *part = opaque;
    (void)shard;
    part->marks = answer;
    buffer_init(&part->steps, MAX_STEPS * sizeof(struct step_row));
    return GAIT_OK;
}

static int add_steps(struct part *part, const struct gait_batch *batch)
{
    for (size_t i = 0; i < batch->rows; i++) {
        int64_t end;
        if (batch->duration_ns[i] < 0) {
            part->open_steps++;
            continue;
        }
        if (__builtin_add_overflow(batch->start_ns[i], batch->duration_ns[i], &end))
            continue; // no clock shows that: the file lies
        const struct step_row row = {.start_ns = batch->start_ns[i],
                                     .duration_ns = batch->duration_ns[i],
                                     .number = batch->id[i],
                                     .rank = part->marks->rank_of_track[batch->track],
                                     .track = batch->track};
        int status = buffer_append(&part->steps, &row, sizeof row);
        if (status)
            return status;
    }
    return GAIT_OK;
}

// Spans at depth 0 follow each other, so their lengths add up.
static void add_busy(struct run_marks *marks, const struct gait_batch *batch)
{
    uint64_t busy = 0;
    for (size_t i = 0; i < batch->rows; i++) {
        int64_t duration = batch->duration_ns[i];
        if (duration < 0 &&
            __builtin_sub_overflow(marks->end_ns[batch->track], batch->start_ns[i], &duration))
            duration = 0;
        busy += batch->depth[i] == 0 && duration > 0 ? (uint64_t)duration : 0;
    }
    marks->busy_ns[batch->track] += busy;
}

static int add_rows(void *opaque, const struct gait_batch *batch)
{
    struct part *part = opaque;
    if (batch->kind == GAIT_KIND_STEP)
        return add_steps(part, batch);
    add_busy(part->marks, batch);
    return GAIT_OK;
}

static int merge(void *answer, void *opaque)
{
    struct run_marks *marks = answer;
    const struct part *part = opaque;
    marks->open_steps += part->open_steps;
    return part->steps.used ? buffer_append(&marks->steps, part->steps.bytes, part->steps.used)
                            : GAIT_OK;
}

static void drop(void *opaque)
{
    buffer_finish(&((struct part *)opaque)->steps);
}

const struct analysis run_marks_analysis = {
    .name = "run marks",
    .kinds = 1u << GAIT_KIND_STEP | 1u << GAIT_KIND_SPAN,
    .columns = GAIT_COLUMN_START | GAIT_COLUMN_DURATION | GAIT_COLUMN_DEPTH | GAIT_COLUMN_ID,
    .part_bytes = sizeof(struct part),
    .begin = begin,
    .rows = add_rows,
    .merge = merge,
    .drop = drop,
};
