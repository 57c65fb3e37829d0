// SPDX-License-Identifier: Apache-2.0
// Which op began what on a device, in a list as torch.profiler has it: whose threads calls of
// the runtime are told on, and the time that each op's kernels, copies and memsets took.
#ifndef GAIT_ANALYSE_OP_LAUNCHES_H
#define GAIT_ANALYSE_OP_LAUNCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/internal/ops.h>

#include "analyse/device/launch_ops.h"

struct op_launch {
    bool is_op;    // else it belongs to one
    uint64_t link; // to the launching call
};

struct op_launches {
    struct op_launch *rows; // of each event of the list, as they were added
    size_t count, room;
    bool has_device;
};

void op_launches_finish(struct op_launches *launches); // takes a zeroed struct
GAIT_CHECK int op_launches_add(struct op_launches *launches, const struct gait_op *op,
                               struct op_launch launch);

// Once the events are in order: kernel_us of each is its place in `rows`, and then the time
// of the work that it began on devices. `times` has the ops by their places.
GAIT_CHECK int op_launches_join(const struct op_launches *launches, struct launch_ops *times,
                                struct gait_op *ops, size_t count);

#endif
