// SPDX-License-Identifier: Apache-2.0
// The tables of a sheet as CSV, one behind the other. The first column of every row is
// the table's key; each table begins with its own row of names. What is no table (single
// values) is in a table `values` of keys and values: step.p50_ns,8112000. A table inside
// of rows, ranks.phases, has the number of its row of `ranks` in a column `row`.
#ifndef GAIT_RENDER_SHEET_CSV_H
#define GAIT_RENDER_SHEET_CSV_H

#include <stdio.h>

#include <gait/error.h>

struct sheet;

// Only the table with that key, or all of them where `key` is NULL. Fails, with the keys
// that there are, if there is none.
GAIT_CHECK int sheet_put_csv(const struct sheet *sheet, const char *key, FILE *out);

#endif
