// SPDX-License-Identifier: Apache-2.0
// TensorBoard's plugin: operators by name, and the share of tensor cores.
#ifndef GAIT_ANALYSE_COMPAT_TB_OPS_H
#define GAIT_ANALYSE_COMPAT_TB_OPS_H

#include "analyse/compat/tb_rank.h"

struct tb_op {
    const char *name;
    uint64_t calls, host_ns, device_ns, own_device_ns;
    int64_t own_host_ns; // below 0 where calls of the runtime reach beyond it
    bool is_eligible;    // for tensor cores
};

struct tb_ops {
    struct tb_op *rows; // by name
    size_t count;
    uint64_t kernel_ns, tensor_ns; // of kernels that an operator launched
    bool has_kernels;
};

GAIT_CHECK int tb_ops_make(struct tb_ops *ops, const struct tb_rank *rank);
void tb_ops_finish(struct tb_ops *ops);

bool tb_uses_tensor_cores(const char *kernel);

#endif
