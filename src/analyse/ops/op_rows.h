// SPDX-License-Identifier: Apache-2.0
// Sums of ops by what a row of a table tells, in whole nanoseconds.
#ifndef GAIT_ANALYSE_OP_ROWS_H
#define GAIT_ANALYSE_OP_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include <gait/internal/ops.h>

#include "analyse/ops/op_sites.h"
#include "analyse/ops/tuple_map.h"

enum { OP_ROW_HOST, OP_ROW_DEVICE, OP_ROW_MEMORIES };

struct op_first { // where the first event of a row stands in a list
    int64_t start_ns, end_ns;
    uint64_t place;
    uint32_t window; // of windows the newest comes first
};

struct op_row {
    uint32_t key, name, shapes;
    uint64_t count, total_ns, self_ns;
    int64_t device_ns, self_device_ns;
    int64_t bytes[OP_ROW_MEMORIES], self_bytes[OP_ROW_MEMORIES];
    uint64_t flops;
    struct op_first first;
};

struct op_rows {
    struct tuple_map keys; // key and shapes
    struct op_row *rows;
    size_t room;
};

void op_rows_init(struct op_rows *rows);
void op_rows_finish(struct op_rows *rows);

GAIT_CHECK int op_rows_get(struct op_rows *rows, const struct op_site *site, uint32_t shapes,
                           uint32_t *ret_row);

// One more event of the row, which began there.
void op_rows_count(struct op_rows *rows, uint32_t row, const struct op_first *first);

// Writes the rows into a list that is empty: an event for each, and its sums, in the order of
// their first events.
GAIT_CHECK int op_rows_tell(const struct op_rows *rows, struct gait_ops *ops, uint32_t flags);

#endif
