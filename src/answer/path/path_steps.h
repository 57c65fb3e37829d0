// SPDX-License-Identifier: Apache-2.0
// The steps of a job as answers about paths show them: of each, the rank that took longest.
#ifndef GAIT_ANSWER_PATH_STEPS_H
#define GAIT_ANSWER_PATH_STEPS_H

#include "analyse/path/path_sums.h"
#include "analyse/steps/chosen.h"
#include "analyse/steps/steps.h"
#include "answer/value.h"

struct path_job {
    struct step_row *rows; // tag: the place of the step in graph->marks
    size_t count;
    uint32_t ranks;
};

// By how long steps take in a replay. `rank`: its number as a text; NULL: all. `chosen`: of steps
// that begin there; NULL: all.
GAIT_CHECK int path_job_make(struct path_job *job, const struct path_graph *graph,
                             const int64_t *end_ns, const char *rank, const struct chosen *chosen);
void path_job_finish(struct path_job *job); // takes a zeroed struct

int64_t path_job_total(const struct path_job *job);
const struct path_step *path_job_step(const struct path_job *job, const struct path_graph *graph,
                                      size_t at);

// A trace that names no rank is of rank 0.
int64_t path_rank_of(const struct path_graph *graph, uint32_t shard);

// "ProfilerStep#5", or "5".
enum { PATH_STEP_TEXT = 32 };
struct value path_step_name(const struct path_step *step, char text[PATH_STEP_TEXT]);

#endif
