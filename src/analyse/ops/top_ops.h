// SPDX-License-Identifier: Apache-2.0
// Which of torch's ops took the time while windows were open: self time is
// without the ops that an op calls.
#ifndef GAIT_ANALYSE_TOP_OPS_H
#define GAIT_ANALYSE_TOP_OPS_H

#include <stddef.h>
#include <stdint.h>

#include <gait/trace.h>

struct arena;
struct intervals;
struct torch_phases;

struct top_op {
    const char *name;
    uint64_t calls, self_ns, total_ns;
    uint64_t longest_ns; // of one call
};

struct top_ops {
    struct top_op *rows; // by self time, the largest first
    size_t count;
    uint64_t calls, self_ns; // of all
};

// Which ops: of the threads of one shard, from a time on, that begin within these steps.
struct top_ops_wish {
    const struct torch_phases *phases;
    uint32_t shard;
    int64_t since_ns;
    const struct intervals *steps; // in order; none: all ops
};

// Names belong to the trace, rows to the arena.
GAIT_CHECK int top_ops_make(struct top_ops *ops, struct gait_trace *trace,
                            const struct top_ops_wish *wish, struct arena *arena);

#endif
