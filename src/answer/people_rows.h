// SPDX-License-Identifier: Apache-2.0
// The rows of a table that people see, in their order: the largest first where the table
// says so, as many as fit, one for all others, and the total.
#ifndef GAIT_ANSWER_PEOPLE_ROWS_H
#define GAIT_ANSWER_PEOPLE_ROWS_H

#include "answer/sheet_nodes.h"

struct people_rows {
    const struct value **rows; // cells, one row behind the other
    size_t count;
    size_t total_at;    // from here on they are totals
    size_t left_out;    // rows
    size_t left_out_at; // the place in `rows` before which they are missing
    struct value *sums; // of what is left out, a cell a column; NULL: no column adds up
    double largest;     // of the column that is drawn as a bar
    void *memory;
};

// `table` is the place of a NODE_TABLE. On failure there is nothing to finish.
GAIT_CHECK int people_rows_choose(const struct node *nodes, size_t table,
                                  struct people_rows *ret_rows);
// Names the row of sums: "(3 smaller)"; `name` must live as long as the rows. What does
// not add up is blank.
void people_rows_name_sums(struct people_rows *rows, const struct table *table, const char *name);
// A cell as people see it: the first one is never empty.
struct value people_rows_cell(const struct table *table, const struct value *cells, size_t column);
void people_rows_finish(struct people_rows *rows);

#endif
