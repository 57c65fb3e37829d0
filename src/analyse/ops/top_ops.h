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
struct op_walk;

struct top_op {
    const char *name;
    uint64_t calls, self_ns, total_ns;
    uint64_t longest_ns;  // of one call
    uint64_t unphased_ns; // of calls that no op made, in the time that was asked for
};

struct top_ops {
    struct top_op *rows; // by self time, the largest first
    size_t count;
    uint64_t calls, self_ns; // of all
};

// Which ops: of the threads of one shard, from a time on, that begin within these steps.
struct top_ops_wish {
    const struct torch_phases *phases;
    int64_t since_ns;
    const struct intervals *steps;    // in order; none: all ops
    const struct intervals *unphased; // time of this track that no phase has
    uint32_t track;
};

struct top_ops_taking;

// Adds a walker that takes the ops; top_ops_end() sums them up and frees what was taken.
GAIT_CHECK int top_ops_begin(struct top_ops_taking **ret_taking, struct op_walk *walk,
                             const struct top_ops_wish *wish);
GAIT_CHECK int top_ops_end(struct top_ops_taking *taking, struct top_ops *ops, struct arena *arena);
void top_ops_drop(struct top_ops_taking *taking); // takes NULL

#endif
