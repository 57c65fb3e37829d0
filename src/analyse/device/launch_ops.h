// SPDX-License-Identifier: Apache-2.0
// Which op launched what a device did, in a run that gait recorded: by the launching call's
// thread and time.
#ifndef GAIT_ANALYSE_LAUNCH_OPS_H
#define GAIT_ANALYSE_LAUNCH_OPS_H

#include <stdbool.h>

#include <gait/trace.h>

struct launch_call {
    uint64_t link;
    int64_t start_ns, tid;
};

struct launch_op {
    int64_t start_ns, end_ns, tid;
    uint32_t site;   // or whatever tells it to the caller
    uint32_t around; // the op that holds it on its thread: its place + 1, once sorted
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
    int64_t tid;
};

void launch_ops_init(struct launch_ops *launches, const struct gait_trace *trace);
void launch_ops_finish(struct launch_ops *launches); // takes a zeroed struct

// The call that began what the row tells of, 0: not known. Each recording counts its calls
// anew; they are told apart by their shard.
uint64_t launch_ops_link(struct launch_ops *launches, const struct gait_batch *batch, size_t at);

// An op or a call by themselves.
GAIT_CHECK int launch_ops_add_op(struct launch_ops *launches, const struct launch_op *op);
GAIT_CHECK int launch_ops_add_call(struct launch_ops *launches, const struct launch_call *call);

// An op, or a call of the runtime.
GAIT_CHECK int launch_ops_add(struct launch_ops *launches, const struct gait_batch *batch,
                              size_t at, bool is_call);
GAIT_CHECK int launch_ops_sort(struct launch_ops *launches);

// The site of the op, GAIT_NO_SITE: none was open.
uint32_t launch_ops_find(const struct launch_ops *launches, uint64_t link);

#endif
