// SPDX-License-Identifier: Apache-2.0
// SQLite's library where the machine has one, found when it is first needed: rows of a table
// of a file, read only. Views, virtual tables, computed columns and functions that a file brings
// are not run.
#ifndef GAIT_INGEST_SQLITE_LIBRARY_H
#define GAIT_INGEST_SQLITE_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/error.h>

#include "base/slice.h"

struct sqlite_file;

// Of a file of so many bytes. Its rows and texts may be no more than twice as many: pages that
// stand for many, and values that many rows share, would go on for ever.
GAIT_CHECK int sqlite_file_open(const char *path, uint64_t file_bytes,
                                struct sqlite_file **ret_file);
void sqlite_file_close(struct sqlite_file *file); // takes NULL

// A value of a row; texts are good until the next row.
struct sqlite_value {
    const char *column;
    enum { SQLITE_NULL_VALUE, SQLITE_INT_VALUE, SQLITE_REAL_VALUE, SQLITE_TEXT_VALUE } kind;
    int64_t integer;
    double real;
    struct slice text;
};

enum { SQLITE_MOST_COLUMNS = 64 };

// Visits all rows of a table; one that is not there has none. What the visit returns, if not 0,
// ends it. Sets `ret_is_cut` where the file is damaged before the end of the table.
typedef int sqlite_visit(const struct sqlite_value *values, int count, void *context);
GAIT_CHECK int sqlite_file_rows(struct sqlite_file *file, const char *table, sqlite_visit *visit,
                                void *context, bool *ret_is_cut);

#endif
