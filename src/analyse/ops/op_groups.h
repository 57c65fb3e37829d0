// SPDX-License-Identifier: Apache-2.0
// Events that are one row of a table, added up.
#ifndef GAIT_ANALYSE_OP_GROUPS_H
#define GAIT_ANALYSE_OP_GROUPS_H

#include <gait/internal/ops.h>

// Fills rows.
GAIT_CHECK int op_groups_build(struct gait_ops *ops, const struct gait_grouping *grouping);

#endif
