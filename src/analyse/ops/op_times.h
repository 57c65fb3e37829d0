// SPDX-License-Identifier: Apache-2.0
// What each event of the tree had, with and without what it called.
#ifndef GAIT_ANALYSE_OP_TIMES_H
#define GAIT_ANALYSE_OP_TIMES_H

#include <gait/error.h>

struct gait_ops;

// Fills events, once the tree is made.
GAIT_CHECK int op_times_build(struct gait_ops *ops);

#endif
