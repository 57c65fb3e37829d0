// SPDX-License-Identifier: Apache-2.0
// First hit wins. A variable that a batch system sets for the whole allocation
// does not count: two runs in one allocation are two jobs.
#include "launch/job.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const rank_variables[] = {
    "GAIT_RANK",      "RANK",     "HOROVOD_RANK",        "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",      "PMI_RANK", "MV2_COMM_WORLD_RANK", "PALS_RANKID",
    "FLUX_TASK_RANK", NULL,
};

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
    static const char *const sizes[] = {"GAIT_WORLD_SIZE",      "WORLD_SIZE", "HOROVOD_SIZE",
                                        "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",   NULL};
    static const char *const meeting[] = {"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT",
                                          NULL};
    if (job_name(out, room))
        return true;
    const char *size = NULL;
    for (const char *const *name = sizes; *name && !size; name++)
        size = variable(*name);
    if (job_rank() < 0 || !size || !strcmp(size, "1"))
        return false;
    size_t used = (size_t)snprintf(out, room, "ranks-%s", size);
    for (const char *const *name = meeting; *name && used < room; name++)
        if (variable(*name))
            used += (size_t)snprintf(out + used, room - used, "-%s", variable(*name));
    keep_to_letters(out);
    return true;
}

int64_t job_rank(void)
{
    const char *text = NULL;
    for (const char *const *name = rank_variables; *name && !text; name++)
        text = variable(*name);
    if (!text && is_many_under_slurm())
        text = variable("SLURM_PROCID");
    if (!text)
        return -1;
    char *end;
    errno = 0;
    long long rank = strtoll(text, &end, 10);
    return *end || errno || rank < 0 ? -1 : rank;
}
