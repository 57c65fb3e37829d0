// SPDX-License-Identifier: Apache-2.0
// Rows of ops as text, byte for byte as torch.profiler prints them
// (docs/howto/torch-tables.md). python/gait/torch/table_text.py has the same rules.
#ifndef GAIT_ANSWER_TORCH_TABLE_H
#define GAIT_ANSWER_TORCH_TABLE_H

#include <stdio.h>

#include "answer/ops/ops_reading.h"

struct torch_table_wish {
    size_t row_limit, stack; // SIZE_MAX rows: all; stack: so many functions of each
    bool has_shapes;
};

GAIT_CHECK int torch_table_print(FILE *out, const struct ops_reading *reading,
                                 const struct torch_table_wish *wish);

#endif
