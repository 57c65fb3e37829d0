// SPDX-License-Identifier: Apache-2.0
// The events of a run as DuckDB's table `events`, and answers of DuckDB as sheets.
#ifndef GAIT_CLI_SQL_TABLE_H
#define GAIT_CLI_SQL_TABLE_H

#include <gait/trace.h>

#include "answer/sheet.h"
#include "cli/sql/duckdb_library.h"

struct sql_table {
    struct duckdb_library library;
    void *database, *connection;
    struct duckdb_answer answer; // whose names of columns the sheet shows
    struct duckdb_answer texts;  // the same with all columns as text, where some need it
    bool has_answer, has_texts;
};

// `path` is the run as the user typed it.
GAIT_CHECK int sql_table_open(struct sql_table *table, struct gait_trace *trace, const char *path);
void sql_table_close(struct sql_table *table); // takes a zeroed struct

// The rows that a statement gives become the sheet's table `rows`. Once for a table, which
// must be open as long as the sheet is printed.
GAIT_CHECK int sql_table_ask(struct sql_table *table, const char *sql, struct sheet *sheet);

#endif
