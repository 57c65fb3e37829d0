// SPDX-License-Identifier: Apache-2.0
// What <gait/internal/ops.h> calls a list: the events as they were added, the tree made of
// them, the rows of the last question.
#ifndef GAIT_ANALYSE_OP_LIST_H
#define GAIT_ANALYSE_OP_LIST_H

#include <stdbool.h>

#include <gait/internal/ops.h>

#include "analyse/ops/op_texts.h"
#include "analyse/ops/tuple_map.h"

#define OP_NONE UINT32_MAX

struct op_node {
    uint32_t parent, first_child, last_child, next; // next: the parent's next child
    uint32_t children;
    bool is_gone;
};

struct gait_ops {
    struct gait_op *ops;
    size_t count, capacity;
    struct op_texts texts;
    struct tuple_map stacks; // caller's stack and name, the stack's number - 1
    struct op_node *nodes;
    uint32_t *order; // events of CPU threads, callers before callees
    size_t ordered;
    struct gait_op_sums *events; // of those not gone
    size_t event_count;
    struct gait_op_sums *rows;
    size_t row_count;
};

#endif
