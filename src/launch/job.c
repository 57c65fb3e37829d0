// SPDX-License-Identifier: Apache-2.0
// First hit wins. A variable that a batch system sets for the whole allocation
// does not count: two runs in one allocation are two jobs.
#include "launch/job.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vocabulary/rank_place.h"

struct job_variable {
    const char *prefix, *first, *second; // both must be set, if there are two
};

static const struct job_variable job_variables[] = {
    {"flux", "FLUX_JOB_ID", NULL},
    {"slurm", "SLURM_JOB_ID", "SLURM_STEP_ID"},
    {"pals", "PALS_APID", NULL},
    {"pmix", "PMIX_NAMESPACE", NULL},
    {"lsf", "LSB_JOBID", "JSM_NAMESPACE_RANK"},
};

static const char *variable(const char *name)
{
    const char *text = name ? getenv(name) : NULL;
    return text && *text ? text : NULL;
}

// SLURM sets these for a plain batch script too, with a task count of one.
static bool is_many_under_slurm(void)
{
    const char *tasks = variable("SLURM_STEP_NUM_TASKS");
    return tasks && strcmp(tasks, "1") != 0;
}

static void keep_to_letters(char *name)
{
    for (char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr(".-_", *at))
            *at = '_';
}

bool job_name(char *out, size_t room)
{
    for (size_t i = 0; i < sizeof job_variables / sizeof job_variables[0]; i++) {
        const struct job_variable *job = &job_variables[i];
        const char *first = variable(job->first), *second = variable(job->second);
        if (!first || (job->second && !second))
            continue;
        bool is_slurm = !strcmp(job->prefix, "slurm");
        if (is_slurm && !is_many_under_slurm())
            continue;
        snprintf(out, room, "%s-%s%s%s", job->prefix, first, is_slurm ? "." : "",
                 is_slurm ? second : ""); // each step of an allocation is a job
        keep_to_letters(out);
        return true;
    }
    return false;
}

bool job_name_of_ranks(char *out, size_t room)
{
    static const char *const meeting[] = {"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT",
                                          NULL};
    if (job_name(out, room))
        return true;
    const struct rank_place place = rank_place_of(NULL);
    if (place.rank < 0 || place.size < 2)
        return false;
    size_t used = (size_t)snprintf(out, room, "ranks-%" PRId64, place.size);
    for (const char *const *name = meeting; *name && used < room; name++)
        if (variable(*name))
            used += (size_t)snprintf(out + used, room - used, "-%s", variable(*name));
    keep_to_letters(out);
    return true;
}

int64_t job_rank(void)
{
    return rank_place_of(NULL).rank;
}
