// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "launch/job.h"
#include "launch/run_name.h"
#include "support/tap.h"

static void no_launcher(void)
{
    static const char *const variables[] = {"GAIT_RANK",
                                            "RANK",
                                            "HOROVOD_RANK",
                                            "OMPI_COMM_WORLD_RANK",
                                            "PMIX_RANK",
                                            "PMI_RANK",
                                            "PALS_RANKID",
                                            "FLUX_TASK_RANK",
                                            "FLUX_JOB_ID",
                                            "SLURM_JOB_ID",
                                            "SLURM_STEP_ID",
                                            "SLURM_PROCID",
                                            "SLURM_STEP_NUM_TASKS",
                                            "PALS_APID",
                                            "PMIX_NAMESPACE",
                                            "LSB_JOBID",
                                            "MV2_COMM_WORLD_RANK"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        unsetenv(variables[i]);
}

TEST("job: without a launcher there is neither name nor rank")
{
    char name[128];
    no_launcher();
    ok(!job_name(name, sizeof name));
    is_int(job_rank(), -1);
}

TEST("job: a batch script alone is no job of many, a step is")
{
    char name[128];
    no_launcher();
    setenv("SLURM_JOB_ID", "17", 1);
    setenv("SLURM_PROCID", "0", 1);
    ok(!job_name(name, sizeof name));
    is_int(job_rank(), -1);
    setenv("SLURM_STEP_ID", "2", 1);
    setenv("SLURM_STEP_NUM_TASKS", "1", 1);
    ok(!job_name(name, sizeof name));
    setenv("SLURM_STEP_NUM_TASKS", "8", 1);
    setenv("SLURM_PROCID", "5", 1);
    ok(job_name(name, sizeof name));
    is_str(name, "slurm-17.2");
    is_int(job_rank(), 5);
    setenv("RANK", "3", 1);
    is_int(job_rank(), 3);
    setenv("GAIT_RANK", "4", 1);
    is_int(job_rank(), 4);
}

TEST("job: what a launcher says in nonsense is not believed")
{
    char name[128];
    no_launcher();
    setenv("RANK", "3x", 1);
    is_int(job_rank(), -1);
    setenv("RANK", "-1", 1);
    is_int(job_rank(), -1);
    setenv("PMIX_NAMESPACE", "a/../b c\n", 1);
    ok(job_name(name, sizeof name));
    is_str(name, "pmix-a_.._b_c_");
}

static void is_named(const char *want, const char *const *arguments)
{
    char name[RUN_NAME_BYTES];
    run_name((char *const *)arguments, name);
    is_str(name, want);
}

TEST("run name: the program people mean, not its interpreter")
{
    is_named("train", (const char *[]){"./train", "--lr", "1", NULL});
    is_named("train", (const char *[]){"python", "src/train.py", NULL});
    is_named("train", (const char *[]){"/usr/bin/python3.11", "-u", "-X", "dev", "train.py", NULL});
    is_named("torch.distributed.run",
             (const char *[]){"python3", "-m", "torch.distributed.run", NULL});
    is_named("python3", (const char *[]){"python3", "-c", "print()", NULL});
    is_named("python", (const char *[]){"python", NULL});
    is_named("pythonista", (const char *[]){"pythonista", "x.py", NULL});
}

TEST("run name: is a harmless file name")
{
    is_named("_hidden", (const char *[]){"/x/.hidden", NULL});
    is_named("a_b_c", (const char *[]){"a b\nc", NULL});
    is_named("program", (const char *[]){"", NULL});
    char long_name[300];
    memset(long_name, 'x', sizeof long_name);
    long_name[299] = '\0';
    char name[RUN_NAME_BYTES];
    run_name((char *[]){long_name, NULL}, name);
    is_u64(strlen(name), RUN_NAME_BYTES - 1);
}
