// SPDX-License-Identifier: Apache-2.0
// First hit wins. A variable that a batch system sets for the whole allocation
// does not count: two runs in one allocation are two jobs.
#include "launch/job.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Rank and size of one family; gait/_ranks.py has the same.
static const struct rank_family {
    const char *rank, *size;
} rank_families[] = {
    {"GAIT_RANK", "GAIT_WORLD_SIZE"},
    {"RANK", "WORLD_SIZE"},
    {"HOROVOD_RANK", "HOROVOD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMIX_RANK", "PMIX_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    {"PALS_RANKID", "PALS_SIZE"},
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
};
#define SLURM_SIZE "SLURM_STEP_NUM_TASKS"

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

// Of this process where `environment` is NULL.
static const char *variable_in(const char *environment, const char *name)
{
    const size_t bytes = strlen(name);
    if (!environment)
        return getenv(name);
    for (const char *at = environment; *at; at += strlen(at) + 1)
        if (!strncmp(at, name, bytes) && at[bytes] == '=')
            return at + bytes + 1;
    return NULL;
}

static const char *variable(const char *name)
{
    const char *text = name ? getenv(name) : NULL;
    return text && *text ? text : NULL;
}

// -1: it is not there, or no such number.
static int64_t number_in(const char *environment, const char *name)
{
    const char *text = variable_in(environment, name);
    char *end;
    if (!text || !isdigit((unsigned char)*text))
        return -1;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    return *end || errno ? -1 : number;
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

struct job_place job_place_of(const char *environment)
{
    struct job_place place = {-1, 0};
    for (size_t i = 0; i < sizeof rank_families / sizeof rank_families[0]; i++) {
        place.rank = number_in(environment, rank_families[i].rank);
        place.size = number_in(environment, rank_families[i].size);
        if (place.rank >= 0)
            break;
    }
    if (place.rank < 0 && number_in(environment, SLURM_SIZE) > 1) {
        place.rank = number_in(environment, "SLURM_PROCID");
        place.size = number_in(environment, SLURM_SIZE);
    }
    if (place.size < 0 || place.rank < 0)
        place.size = 0;
    return place;
}

int64_t job_rank(void)
{
    return job_place_of(NULL).rank;
}
