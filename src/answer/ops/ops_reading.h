// SPDX-License-Identifier: Apache-2.0
// The ops of one process as torch.profiler would average them: of the windows of gait's own
// run, of all of an imported trace.
#ifndef GAIT_ANSWER_OPS_READING_H
#define GAIT_ANSWER_OPS_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/internal/ops.h>
#include <gait/trace.h>

enum { OPS_MOST_STACK = 64 };

struct chosen;

struct ops_wish {
    int64_t stack;               // so many functions of a stack tell rows apart; 0: none
    const struct chosen *chosen; // of sums alone, not of torch's list; NULL: all
    bool by_shapes;              // so do the sizes of the inputs
    bool is_torch;       // with all that torch.profiler lists: Python's functions, annotations
    const char *sort_by; // NULL: in the order of their first events
};

struct ops_reading {
    struct gait_ops *ops;
    const struct gait_op_sums **rows; // as they are sorted
    size_t count, window_count;
    struct gait_shard_info shard;
    bool is_imported, has_memory, has_flops, has_device;
    const char *device; // "CUDA", where it has one
};

// torch's words for what a table can be sorted by; NULL-terminated.
extern const char *const ops_sort_keys[];

GAIT_CHECK int ops_reading_make(struct ops_reading *reading, struct gait_trace *trace,
                                const struct ops_wish *wish);
void ops_reading_finish(struct ops_reading *reading); // takes a zeroed struct

// The event that a row stands for.
const struct gait_op *ops_reading_op(const struct ops_reading *reading,
                                     const struct gait_op_sums *row);

// The innermost functions of a stack as torch tells them; returns how many.
size_t ops_reading_stack(const struct gait_ops *ops, uint32_t stack, uint32_t *ret_names,
                         size_t most);

#endif
