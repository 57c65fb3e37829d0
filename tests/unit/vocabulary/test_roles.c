// SPDX-License-Identifier: Apache-2.0
// The expected roles are from the lists of categories that the writers of the traces have
// (Kineto's ActivityType.h of each generation), not from our table.
#include "vocabulary/roles.h"

#include "support/tap.h"

TEST("roles: a category of any generation of PyTorch has its role")
{
    static const struct {
        const char *category, *name;
        enum role role;
    } cases[] = {
        {"cpu_op", "aten::mm", ROLE_OP},
        {"Operator", "aten::mm", ROLE_OP},
        {"cpu_op", "ProfilerStep#12", ROLE_STEP},
        {"Operator", "ProfilerStep#1", ROLE_STEP},
        {"user_annotation", "ProfilerStep#12", ROLE_STEP},
        {"gpu_user_annotation", "ProfilerStep#12", ROLE_DEVICE_ANNOTATION},
        {"user_annotation", "my range", ROLE_ANNOTATION},
        {"python_function", "train.py(3): main", ROLE_PYTHON},
        {"kernel", "volta_sgemm_128x64_nn", ROLE_KERNEL},
        {"Kernel", "volta_sgemm_128x64_nn", ROLE_KERNEL},
        {"kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", ROLE_COLLECTIVE},
        {"Kernel", "void oneCCL_kernel<float>()", ROLE_COLLECTIVE},
        {"kernel", "__amd_rocclr_copyBuffer", ROLE_KERNEL},
        {"cpu_op", "nccl:all_reduce", ROLE_OP},
        {"gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", ROLE_COPY},
        {"Memset", "Memset (Device)", ROLE_SET},
        {"cuda_driver", "cuLaunchKernel", ROLE_RUNTIME},
        {"Runtime", "cudaLaunchKernel", ROLE_RUNTIME},
        {"cuda_sync", "Stream Wait Event", ROLE_SYNC},
        {"ac2g", "ac2g", ROLE_LINK},
        {"cpu_instant_event", "[memory]", ROLE_MEMORY},
        {"cpu_instant_event", "else", ROLE_OTHER},
        {"Trace", "PyTorch Profiler (0)", ROLE_RECORDING},
        {"cpu_opera", "aten::mm", ROLE_OTHER},
        {"", "", ROLE_OTHER},
        {NULL, "aten::mm", ROLE_OTHER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (!is_int(role_of(cases[i].category, cases[i].name), cases[i].role))
            printf("# %s\n", cases[i].name);
}

TEST("roles: what gait writes by a role is read as that role")
{
    for (enum role role = ROLE_OTHER + 1; role < ROLE_COUNT; role++) {
        const struct role_words words = role_words(role);
        is_int(role_of(words.category, words.name ? words.name : "x"), role);
    }
    is_int(role_of("torch", "other"), ROLE_OTHER);
    is_str(role_category(ROLE_PHASE), "phase");
}
