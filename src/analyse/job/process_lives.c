// SPDX-License-Identifier: Apache-2.0
// A program that became another by exec() goes on with its start: the life of the later one
// begins where the recording of the one before it ended.
#include "analyse/job/process_lives.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/json_reader.h"
#include "vocabulary/metadata.h"

static struct process_life recording_of(const struct gait_shard_info *shard)
{
    return (struct process_life){shard->start_ns, shard->end_ns, shard->start_ns, 0};
}

// What the process said of its own start; files of gait before this say nothing.
static struct process_life life_of(const struct gait_trace *trace, uint32_t index,
                                   const struct gait_shard_info *shard)
{
    struct process_life life = recording_of(shard);
    const char *start = gait_trace_metadata(trace, index, meta.process_start_ns);
    const char *error = gait_trace_metadata(trace, index, meta.process_start_error_ns);
    const int64_t start_ns = json_integer(start, shard->start_ns);
    const int64_t error_ns = json_integer(error, 0);
    if (!gait_trace_metadata(trace, index, meta.invocation) || error_ns <= 0 ||
        start_ns >= shard->start_ns)
        return life;
    life.start_ns = start_ns;
    life.start_error_ns = (uint64_t)error_ns;
    return life;
}

struct recording {
    const char *host;
    int64_t pid;
    struct process_life *life;
};

static int by_process(const void *left, const void *right)
{
    const struct recording *a = left, *b = right;
    const int hosts = strcmp(a->host, b->host);
    if (hosts)
        return hosts;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return (a->life->recorded_ns > b->life->recorded_ns) -
           (a->life->recorded_ns < b->life->recorded_ns);
}

// Of recordings in order, each process's together.
static void part_successors(struct recording *rows, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        struct process_life *life = rows[i].life;
        const struct process_life *before = rows[i - 1].life;
        if (rows[i].pid != rows[i - 1].pid || strcmp(rows[i].host, rows[i - 1].host) != 0 ||
            life->start_ns >= before->end_ns)
            continue;
        const bool is_behind = before->end_ns < life->recorded_ns;
        life->start_ns = is_behind ? before->end_ns : life->recorded_ns;
        if (!is_behind)
            life->start_error_ns = 0;
    }
}

int process_lives_find(struct process_lives *lives, const struct gait_trace *trace,
                       struct arena *arena)
{
    const uint32_t count = gait_trace_shard_count(trace);
    struct recording *recordings = calloc((size_t)count + 1, sizeof *recordings);
    *lives = (struct process_lives){arena_take(arena, (count + 1) * sizeof *lives->rows), count};
    int status = recordings && lives->rows
                     ? GAIT_OK
                     : fail(GAIT_ERR_MEMORY, "no memory for %u processes", count);
    for (uint32_t i = 0; !status && i < count; i++) {
        struct gait_shard_info shard;
        status = gait_trace_shard(trace, i, &shard);
        if (status)
            break;
        lives->rows[i] = life_of(trace, i, &shard);
        recordings[i] = (struct recording){shard.host, shard.pid, &lives->rows[i]};
    }
    if (!status && count) {
        qsort(recordings, count, sizeof *recordings, by_process);
        part_successors(recordings, count);
    }
    free(recordings);
    return status;
}

int process_lives_of_track(const struct process_lives *lives, const struct gait_trace *trace,
                           uint32_t track, struct process_life *ret_life)
{
    struct gait_track_info info;
    struct gait_shard_info shard;
    int status = gait_trace_track(trace, track, &info);
    if (!status && info.shard < lives->count) {
        *ret_life = lives->rows[info.shard];
        return GAIT_OK;
    }
    if (!status)
        status = gait_trace_shard(trace, info.shard, &shard);
    if (!status)
        *ret_life = recording_of(&shard);
    return status;
}
