// SPDX-License-Identifier: Apache-2.0
// The rows of torch.profiler's key_averages() of one process, from a stream of its events: sums in
// whole nanoseconds, in memory for the rows alone. What a list of all events tells (op_list.h)
// differs by what sums of doubles lose, and where children overlap: an op's own time is what none
// of them covers.
#ifndef GAIT_ANALYSE_OP_SUMS_H
#define GAIT_ANALYSE_OP_SUMS_H

#include <stdbool.h>
#include <stddef.h>

#include <gait/internal/ops.h>

#include "analyse/job/torch_processes.h"
#include "analyse/steps/chosen.h"

struct op_sums_wish {
    uint32_t shard;
    const struct torch_window *windows; // in order; events that begin in one
    size_t window_count;
    bool by_shapes;
    const struct chosen *chosen; // events that begin in it count; NULL: all
};

// Fills a list that is empty with an event for each row, and with the rows.
GAIT_CHECK int op_sums_make(struct gait_ops *ops, struct gait_trace *trace,
                            const struct op_sums_wish *wish, const struct gait_op_sums **ret_rows,
                            size_t *ret_count);

// All rows of each imported process, for its file of facts alone; without an answer.
struct fact_consumer;
extern const struct fact_consumer op_sums_consumer;

#endif
