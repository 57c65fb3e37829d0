// SPDX-License-Identifier: Apache-2.0
// Allocations and releases on record, as torch.profiler takes them.
#ifndef GAIT_ANALYSE_OP_BLOCKS_H
#define GAIT_ANALYSE_OP_BLOCKS_H

#include <gait/trace.h>

#include "analyse/memory/op_memory.h"
#include "analyse/ops/tuple_map.h"

struct op_blocks {
    struct op_memory memory;
    struct tuple_map addresses; // of blocks that were allocated on record
    bool *is_live;
    size_t room;
};

void op_blocks_init(struct op_blocks *blocks);
void op_blocks_finish(struct op_blocks *blocks);

// An event of memory, or a mark of another tool's trace that stands for one. In order of time.
GAIT_CHECK int op_blocks_see(struct op_blocks *blocks, const struct gait_event *event,
                             int64_t thread);

#endif
