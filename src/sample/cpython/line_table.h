// SPDX-License-Identifier: Apache-2.0
// CPython's line tables, 3.8 to 3.15, as rows of [start, end): which bytes of a
// function's code belong to which line.
#ifndef GAIT_SAMPLE_LINE_TABLE_H
#define GAIT_SAMPLE_LINE_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct line_entry {
    int32_t start, end;         // bytes of code
    int32_t line, end_line;     // line -1: these bytes have none
    int32_t column, end_column; // 0-based bytes of UTF-8; -1: not known (always before 3.11)
};

struct line_table {
    int minor, first_line; // of Python; of the function
    const uint8_t *bytes;
    size_t count;
};

// Rows of the table in `out`, their number returned; -1 where the table is
// malformed or needs more than `room` rows. A table of n bytes needs at most
// n / 2 + 1 rows up to 3.10, n after that.
int line_table_decode(const struct line_table *table, struct line_entry *out, int room);

// The row that holds that byte of code, or NULL.
const struct line_entry *line_table_find(const struct line_entry *entries, int count, int offset);

#endif
