// SPDX-License-Identifier: Apache-2.0
// Which op began what on a device, in a list as torch.profiler has it: whose threads calls of
// the runtime are told on, and the time that each op's kernels, copies and memsets took.
#ifndef GAIT_ANALYSE_OP_LAUNCHES_H
#define GAIT_ANALYSE_OP_LAUNCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/internal/ops.h>

#include "facts/launches.h"

#define OP_LAUNCHED_BY_NONE UINT32_MAX

struct op_launch {
    bool is_op;  // else it belongs to one
    uint32_t by; // the place of that one, as they were added; OP_LAUNCHED_BY_NONE: not known
};

struct op_opened {
    int64_t end_ns;
    uint32_t place;
};

struct op_open_stack { // the ops of a thread that are open
    struct op_opened *ops;
    size_t depth, room;
};

struct op_launches {
    struct op_launch *rows; // of each event of the list, as they were added
    size_t count, room;
    struct op_open_stack *threads;
    size_t thread_count, thread_room;
    uint32_t *by; // of calls by their numbers: the newest ones
    bool has_device;
};

void op_launches_finish(struct op_launches *launches); // takes a zeroed struct
GAIT_CHECK int op_launches_add(struct op_launches *launches, const struct gait_op *op,
                               struct op_launch launch);

// Before the rows of each rank.
GAIT_CHECK int op_launches_begin_rank(struct op_launches *launches);

// An op of that thread, which is the next that is added.
GAIT_CHECK int op_launches_open(struct op_launches *launches, uint32_t thread, int64_t start_ns,
                                int64_t end_ns);

// A call was made: the innermost op that is open then made it.
GAIT_CHECK int op_launches_call(struct op_launches *launches, const struct launch *call);

// The place of the op that made a call; takes NULL.
uint32_t op_launches_by(const struct op_launches *launches, const struct launch *call);

// Once the events are in order: kernel_us of each is its place in `rows`, and then the time
// of the work that it began on devices.
GAIT_CHECK int op_launches_join(const struct op_launches *launches, struct gait_op *ops,
                                size_t count);

#endif
