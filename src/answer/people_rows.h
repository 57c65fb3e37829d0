// SPDX-License-Identifier: Apache-2.0
// The rows of a table that people see, in their order: the largest first where the table
// says so, as many as fit, one for all others, and the total.
#ifndef GAIT_ANSWER_PEOPLE_ROWS_H
#define GAIT_ANSWER_PEOPLE_ROWS_H

#include "answer/sheet_nodes.h"

enum people_row_kind {
    PEOPLE_ROW,
    PEOPLE_SUMS, // of what is left out; its first cell is rows.left_out
    PEOPLE_MORE, // rows that are left out and do not add up: no cells
    PEOPLE_TOTAL,
};

struct people_row {
    enum people_row_kind kind;
    const struct value *cells;
};

struct people_rows {
    struct people_row *rows;
    size_t count;
    char left_out[80]; // "(3 smaller)"
    double largest;    // finite, of the columns that are drawn as bars
    void *memory;
};

// `table` is the place of a NODE_TABLE. On failure there is nothing to finish. The rows
// must stay where they are: one of them points to `left_out`.
GAIT_CHECK int people_rows_choose(const struct node *nodes, size_t table,
                                  struct people_rows *ret_rows);
// A cell as people see it: the first one is never empty.
struct value people_rows_cell(const struct table *table, const struct value *cells, size_t column);
// How much of the room of a bar a cell takes, 0 to 1: what is negative or no number has none.
double people_rows_bar(const struct people_rows *rows, struct value cell);
void people_rows_finish(struct people_rows *rows);

#endif
