// SPDX-License-Identifier: Apache-2.0
// First hit wins: who starts its own ranks below another launcher's stands in front of it.
#include "vocabulary/rank_place.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const struct family {
    const char *rank, *size; // size NULL: the launcher tells none
    bool needs_many;         // a single task has these too, without having been launched
} families[] = {
    {"GAIT_RANK", "GAIT_WORLD_SIZE", false},
    {"RANK", "WORLD_SIZE", false}, // torchrun, and Ray Train
    {"HOROVOD_RANK", "HOROVOD_SIZE", false},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", false},
    {"PMIX_RANK", NULL, false},
    {"PMI_RANK", "PMI_SIZE", false}, // MPICH, Intel MPI, Hydra
    {"PMI_ID", "PMI_SIZE", false},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", false},
    {"MVP_COMM_WORLD_RANK", "MVP_COMM_WORLD_SIZE", false},
    {"PALS_RANKID", "PALS_SIZE", false},
    {"ALPS_APP_PE", NULL, false},
    {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", false},
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE", false},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", true}, // a batch script has them without srun
    {"JOB_COMPLETION_INDEX", NULL, false},          // an indexed job of Kubernetes
};

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

// -1: it is not there, or no such number.
static int64_t number_in(const char *environment, const char *name)
{
    const char *text = name ? variable_in(environment, name) : NULL;
    char *end;
    if (!text || !isdigit((unsigned char)*text))
        return -1;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    return *end || errno || number > INT32_MAX ? -1 : number;
}

static bool take(const struct family *family, const char *environment, struct rank_place *place)
{
    const int64_t rank = number_in(environment, family->rank);
    const int64_t size = number_in(environment, family->size);
    if (rank < 0 || (family->needs_many && size <= 1))
        return false;
    *place = (struct rank_place){.rank = rank, .size = size > 0 ? size : 0};
    place->variable = family->rank;
    return true;
}

struct rank_place rank_place_of(const char *environment)
{
    struct rank_place place = {.rank = -1}, other;
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        if (place.rank < 0) {
            (void)take(&families[i], environment, &place);
        } else if (place.size > 1 && !place.otherwise && take(&families[i], environment, &other) &&
                   other.size == place.size && other.rank != place.rank) {
            place.otherwise = other.variable;
            place.other_rank = other.rank;
        }
    }
    return place;
}
