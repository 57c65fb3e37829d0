// SPDX-License-Identifier: Apache-2.0
// TensorBoard's plugin: utilisation of each device, and kernels by name.
#ifndef GAIT_ANALYSE_COMPAT_TB_DEVICES_H
#define GAIT_ANALYSE_COMPAT_TB_DEVICES_H

#include "analyse/compat/tb_rank.h"

struct tb_device {
    int64_t device;
    double utilisation, sm_efficiency, occupancy; // NAN: no kernel says
};

struct tb_kernel {
    const char *name;
    uint64_t count, sum_ns, most_ns, least_ns;
    double blocks, occupancy; // weighted by time
    bool uses_tensor_cores;
};

struct tb_devices {
    struct tb_device *devices; // by number
    size_t count;
    struct tb_kernel *kernels; // the longest first
    size_t kernel_count;
};

GAIT_CHECK int tb_devices_make(struct tb_devices *made, const struct tb_rank *rank);
void tb_devices_finish(struct tb_devices *devices);

#endif
