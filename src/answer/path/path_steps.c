// SPDX-License-Identifier: Apache-2.0
#include "answer/path/path_steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

int64_t path_rank_of(const struct path_graph *graph, uint32_t shard)
{
    struct gait_shard_info info;
    return gait_trace_shard(graph->trace, shard, &info) || info.rank < 0 ? 0 : info.rank;
}

int path_job_make(struct path_job *job, const struct path_graph *graph, const int64_t *end_ns,
                  const char *rank, const struct chosen *chosen)
{
    const struct path_marks *marks = &graph->marks;
    size_t count = 0;
    *job = (struct path_job){.rows = calloc(marks->step_count + 1, sizeof *job->rows)};
    if (!job->rows)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu steps", marks->step_count);
    for (size_t i = 0; i < marks->step_count; i++) {
        const struct path_step *step = &marks->steps[i];
        char number[24];
        snprintf(number, sizeof number, "%" PRId64, path_rank_of(graph, step->shard));
        if ((rank && strcmp(rank, number) != 0) || !chosen_has(chosen, step->shard, step->start_ns))
            continue;
        job->rows[count++] =
            (struct step_row){.start_ns = step->start_ns,
                              .duration_ns = (int64_t)path_replay_step(end_ns, step),
                              .number = step->number,
                              .rank = step->shard,
                              .track = step->track,
                              .tag = i};
    }
    job->count = steps_merge(job->rows, count, &job->ranks);
    return GAIT_OK;
}

void path_job_finish(struct path_job *job)
{
    free(job->rows);
    *job = (struct path_job){.count = 0};
}

int64_t path_job_total(const struct path_job *job)
{
    int64_t ns = 0;
    for (size_t i = 0; i < job->count; i++)
        if (__builtin_add_overflow(ns, job->rows[i].duration_ns, &ns))
            return INT64_MAX; // of factors that nobody means
    return ns;
}

const struct path_step *path_job_step(const struct path_job *job, const struct path_graph *graph,
                                      size_t at)
{
    return &graph->marks.steps[job->rows[at].tag];
}

struct value path_step_name(const struct path_step *step, char text[PATH_STEP_TEXT])
{
    if (*step->name)
        return value_text(step->name);
    snprintf(text, PATH_STEP_TEXT, "%" PRIu64, step->number);
    return value_text(text);
}
