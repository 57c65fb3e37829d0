// SPDX-License-Identifier: Apache-2.0
#include "support/tap.h"
#include "vocabulary/rank_place.h"

static void says(const char *environment, int64_t rank, int64_t size)
{
    const struct rank_place place = rank_place_of(environment);
    is_int(place.rank, rank);
    is_int(place.size, size);
}

TEST("rank_place: each launcher's rank comes with its own size")
{
    says("RANK=3\0WORLD_SIZE=8\0", 3, 8);
    says("OMPI_COMM_WORLD_RANK=1\0OMPI_COMM_WORLD_SIZE=2\0WORLD_SIZE=9\0", 1, 2);
    says("PMI_ID=1\0PMI_SIZE=4\0", 1, 4);
    says("JSM_NAMESPACE_RANK=5\0JSM_NAMESPACE_SIZE=6\0", 5, 6);
    says("PMIX_RANK=2\0PMIX_SIZE=7\0", 2, 0);
    says("JOB_COMPLETION_INDEX=2\0", 2, 0);
    says("GAIT_RANK=7\0RANK=3\0WORLD_SIZE=8\0", 7, 0);
    says("WORLD_SIZE=8\0", -1, 0);
}

TEST("rank_place: a value that is no number is nobody's")
{
    says("RANK=first\0OMPI_COMM_WORLD_RANK=1\0OMPI_COMM_WORLD_SIZE=2\0", 1, 2);
    says("RANK=-1\0WORLD_SIZE=2\0", -1, 0);
    says("RANK=99999999999999999999\0", -1, 0);
}

TEST("rank_place: SLURM's variables count under srun alone")
{
    says("SLURM_PROCID=0\0SLURM_NTASKS=4\0", -1, 0);
    says("SLURM_PROCID=0\0SLURM_STEP_NUM_TASKS=1\0", -1, 0);
    says("SLURM_PROCID=3\0SLURM_STEP_NUM_TASKS=4\0", 3, 4);
}

TEST("rank_place: two launchers of one size that disagree are told")
{
    struct rank_place place = rank_place_of("RANK=0\0WORLD_SIZE=2\0OMPI_COMM_WORLD_RANK=1\0"
                                            "OMPI_COMM_WORLD_SIZE=2\0");
    is_int(place.rank, 0);
    is_str(place.variable, "RANK");
    is_str(place.otherwise, "OMPI_COMM_WORLD_RANK");
    is_int(place.other_rank, 1);
    // torchrun on each of two nodes that mpirun began
    place = rank_place_of("RANK=3\0WORLD_SIZE=4\0OMPI_COMM_WORLD_RANK=1\0"
                          "OMPI_COMM_WORLD_SIZE=2\0");
    is_int(place.rank, 3);
    ok(!place.otherwise);
}
