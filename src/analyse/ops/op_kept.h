// SPDX-License-Identifier: Apache-2.0
// Rows of ops of all of an imported process, in the file of facts beside its shard.
#ifndef GAIT_ANALYSE_OP_KEPT_H
#define GAIT_ANALYSE_OP_KEPT_H

#include <stdbool.h>

#include <gait/internal/ops.h>

struct facts_file;
struct gait_trace;

// Fills a list that is empty. 1: it did; 0: they are not on record.
GAIT_CHECK int op_kept_load(struct gait_ops *ops, struct facts_file *file);
bool op_kept_is_there(const struct facts_file *file);
GAIT_CHECK int op_kept_save(const struct gait_ops *ops, struct facts_file *file);

#endif
