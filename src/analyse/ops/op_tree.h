// SPDX-License-Identifier: Apache-2.0
// Who called whom, from begins and ends alone.
#ifndef GAIT_ANALYSE_OP_TREE_H
#define GAIT_ANALYSE_OP_TREE_H

#include <gait/error.h>

struct gait_ops;

// Fills nodes and order.
GAIT_CHECK int op_tree_build(struct gait_ops *ops);

#endif
