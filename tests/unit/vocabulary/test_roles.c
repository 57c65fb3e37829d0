// SPDX-License-Identifier: Apache-2.0
// The expected roles are from the lists of categories that the writers of the traces have
// (Kineto's ActivityType.h of each generation), not from our table.
#include "vocabulary/roles.h"

#include "support/tap.h"

static const struct {
    const char *category, *name;
    enum role role;
    enum device_lane lane;
} cases[] = {
    {"cpu_op", "aten::mm", ROLE_OP, LANE_NONE},
    {"Operator", "aten::mm", ROLE_OP, LANE_NONE},
    {"cpu_op", "triton_kernel", ROLE_OP, LANE_NONE},
    {"cpu_op", "ProfilerStep#12", ROLE_STEP, LANE_NONE},
    {"Operator", "ProfilerStep#1", ROLE_STEP, LANE_NONE},
    {"user_annotation", "ProfilerStep#12", ROLE_STEP, LANE_NONE},
    {"user_annotation", "my ProfilerStep#12", ROLE_ANNOTATION, LANE_NONE},
    {"gpu_user_annotation", "ProfilerStep#12", ROLE_DEVICE_ANNOTATION, LANE_NONE},
    {"gpu_user_annotation", "nccl:all_reduce", ROLE_DEVICE_ANNOTATION, LANE_NONE},
    {"user_annotation", "my range", ROLE_ANNOTATION, LANE_NONE},
    {"user_annotation", "nccl:all_reduce", ROLE_ANNOTATION, LANE_NONE},
    {"python_function", "train.py(3): main", ROLE_PYTHON, LANE_NONE},
    {"kernel", "volta_sgemm_128x64_nn", ROLE_KERNEL, LANE_COMPUTE},
    {"Kernel", "volta_sgemm_128x64_nn", ROLE_KERNEL, LANE_COMPUTE},
    {"kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", ROLE_COLLECTIVE, LANE_COMM},
    {"Kernel", "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", ROLE_COLLECTIVE, LANE_COMM},
    {"kernel", "mscclppKernel_RCCL_x", ROLE_COLLECTIVE, LANE_COMM},
    {"Kernel", "void oneCCL_kernel<float>()", ROLE_COLLECTIVE, LANE_COMM},
    {"kernel", "hcclAicpuKernel", ROLE_COLLECTIVE, LANE_COMM},
    {"collective_comm", "all_reduce", ROLE_COLLECTIVE, LANE_COMM},
    {"kernel", "ncc", ROLE_KERNEL, LANE_COMPUTE},
    {"kernel", "", ROLE_KERNEL, LANE_COMPUTE},
    {"kernel", "__amd_rocclr_copyBuffer", ROLE_KERNEL, LANE_COMPUTE},
    {"kernel", "cross_device_reduce_1stage", ROLE_KERNEL, LANE_COMPUTE},
    {"kernel", "event_wait", ROLE_KERNEL, LANE_COMPUTE},
    {"cpu_op", "nccl:all_reduce", ROLE_OP, LANE_NONE},
    {"gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", ROLE_COPY, LANE_COPY},
    {"gpu_memcpy", "Memcpy DtoD (ncclDevKernel)", ROLE_COPY, LANE_COPY},
    {"Memcpy", "Memcpy HtoD", ROLE_COPY, LANE_COPY},
    {"gpu_memset", "Memset (Device)", ROLE_SET, LANE_COPY},
    {"Memset", "Memset (Device)", ROLE_SET, LANE_COPY},
    {"mtia_ccp_events", "fc-dtype_Float", ROLE_KERNEL, LANE_COMPUTE},
    {"mtia_ccp_events", "dma_request", ROLE_COPY, LANE_COPY},
    {"mtia_ccp_events", "event_wait", ROLE_SYNC, LANE_NONE},
    {"mtia_ccp_events", "event_record", ROLE_SYNC, LANE_NONE},
    {"cuda_driver", "cuLaunchKernel", ROLE_RUNTIME, LANE_NONE},
    {"Runtime", "cudaLaunchKernel", ROLE_RUNTIME, LANE_NONE},
    {"hip_runtime", "hipLaunchKernel", ROLE_RUNTIME, LANE_NONE},
    {"mtia_runtime", "runFunction - job_prep_and_submit_for_execution", ROLE_RUNTIME, LANE_NONE},
    {"cuda_sync", "Stream Wait Event", ROLE_SYNC, LANE_NONE},
    {"overhead", "Buffer Flush", ROLE_OVERHEAD, LANE_NONE},
    {"ac2g", "ac2g", ROLE_LINK, LANE_NONE},
    {"cpu_instant_event", "[memory]", ROLE_MEMORY, LANE_NONE},
    {"cpu_instant_event", "else", ROLE_OTHER, LANE_NONE},
    {"Trace", "PyTorch Profiler (0)", ROLE_RECORDING, LANE_NONE},
    {"cpu_opera", "aten::mm", ROLE_OTHER, LANE_NONE},
    {"", "", ROLE_OTHER, LANE_NONE},
    {NULL, "aten::mm", ROLE_OTHER, LANE_NONE},
};

TEST("roles: a category of any generation of PyTorch has its role, and a device's work its lane")
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const enum role role = role_of(cases[i].category, cases[i].name);
        if (!is_int(role, cases[i].role) || !is_int(role_lane(role), cases[i].lane) ||
            !is_int(role_is_device_work(role), cases[i].lane != LANE_NONE))
            printf("# %s %s\n", cases[i].category, cases[i].name);
    }
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
