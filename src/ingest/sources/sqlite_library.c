// SPDX-License-Identifier: Apache-2.0
// Loaded rather than linked: the tool works without, and no build needs its header. The
// prototypes and numbers below are SQLite's, whose ABI does not change.
#include "ingest/sources/sqlite_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fail.h"

enum { OK = 0, ROW = 100, DONE = 101, INTEGER = 1, FLOAT = 2, TEXT = 3, BLOB = 4 };
enum { OPEN_READONLY = 1, LIMIT_LENGTH = 0 };

#define FREE_BYTES ((uint64_t)1 << 20) // whatever the length of the file
#define LEAST_ROW_BYTES 4              // in the file

struct sqlite_file {
    void *library, *database;
    uint64_t left_bytes; // that rows may still take
    int (*open)(const char *path, void **database, int flags, const char *vfs);
    int (*close)(void *database);
    const char *(*errmsg)(void *database);
    int (*exec)(void *database, const char *sql, void *visit, void *context, char **error);
    int (*prepare)(void *database, const char *sql, int bytes, void **statement, const char **tail);
    int (*step)(void *statement);
    int (*finalize)(void *statement);
    int (*column_count)(void *statement);
    const char *(*column_name)(void *statement, int column);
    int (*column_type)(void *statement, int column);
    long long (*column_int64)(void *statement, int column);
    double (*column_double)(void *statement, int column);
    const unsigned char *(*column_text)(void *statement, int column);
    int (*column_bytes)(void *statement, int column);
    int (*limit)(void *database, int which, int most);
};

static int find_library(struct sqlite_file *file)
{
    const struct {
        const char *name;
        void *function;
    } wanted[] = {
        {"sqlite3_open_v2", &file->open},
        {"sqlite3_close_v2", &file->close},
        {"sqlite3_errmsg", &file->errmsg},
        {"sqlite3_exec", &file->exec},
        {"sqlite3_prepare_v2", &file->prepare},
        {"sqlite3_step", &file->step},
        {"sqlite3_finalize", &file->finalize},
        {"sqlite3_column_count", &file->column_count},
        {"sqlite3_column_name", &file->column_name},
        {"sqlite3_column_type", &file->column_type},
        {"sqlite3_column_int64", &file->column_int64},
        {"sqlite3_column_double", &file->column_double},
        {"sqlite3_column_text", &file->column_text},
        {"sqlite3_column_bytes", &file->column_bytes},
        {"sqlite3_limit", &file->limit},
    };
    file->library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!file->library)
        file->library = dlopen("libsqlite3.so", RTLD_NOW | RTLD_LOCAL);
    bool is_whole = file->library != NULL;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0] && is_whole; i++) {
        void *found = dlsym(file->library, wanted[i].name);
        memcpy(wanted[i].function, &found, sizeof found);
        is_whole = found != NULL;
    }
    if (is_whole)
        return 0;
    return fail(GAIT_ERR_MISSING, "it is a SQLite file, and libsqlite3.so.0 is not there: install "
                                  "it (Debian, Ubuntu: apt-get install libsqlite3-0)");
}

int sqlite_file_open(const char *path, uint64_t file_bytes, struct sqlite_file **ret_file)
{
    struct sqlite_file *file = calloc(1, sizeof *file);
    if (!file)
        return fail(GAIT_ERR_MEMORY, "no memory to open a SQLite file");
    int status = find_library(file);
    if (!status && file->open(path, &file->database, OPEN_READONLY, NULL) != OK)
        status = fail(GAIT_ERR_FORMAT, "SQLite cannot open it: %s", file->errmsg(file->database));
    file->left_bytes = 2 * file_bytes + FREE_BYTES;
    if (!status) // more than SQLite's own limit changes nothing
        file->limit(file->database, LIMIT_LENGTH,
                    file->left_bytes < INT_MAX ? (int)file->left_bytes : INT_MAX);
    if (!status) // a file is data: nothing in its schema is trusted
        (void)file->exec(file->database, "PRAGMA trusted_schema=OFF; PRAGMA query_only=ON", NULL,
                         NULL, NULL);
    if (status)
        sqlite_file_close(file);
    else
        *ret_file = file;
    return status;
}

void sqlite_file_close(struct sqlite_file *file)
{
    if (!file)
        return;
    if (file->database)
        file->close(file->database);
    if (file->library)
        dlclose(file->library);
    free(file);
}

static int has_row(struct sqlite_file *file, const char *sql, bool *ret_has)
{
    void *statement = NULL;
    *ret_has = false;
    if (file->prepare(file->database, sql, -1, &statement, NULL) != OK)
        return fail(GAIT_ERR_FORMAT, "SQLite cannot read it: %s", file->errmsg(file->database));
    *ret_has = file->step(statement) == ROW;
    file->finalize(statement);
    return 0;
}

// A view of that name could run for ever, and a column that is computed could be any length.
static int has_table(struct sqlite_file *file, const char *table, bool *ret_has)
{
    char sql[256];
    bool is_computed = false;
    snprintf(sql, sizeof sql,
             "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '%s' AND "
             "sql LIKE 'CREATE TABLE%%'",
             table);
    int status = has_row(file, sql, ret_has);
    snprintf(sql, sizeof sql, "SELECT 1 FROM pragma_table_xinfo('%s') WHERE hidden > 0", table);
    if (!status && *ret_has)
        status = has_row(file, sql, &is_computed);
    if (!status && is_computed)
        status = fail(GAIT_ERR_FORMAT,
                      "its table '%s' has a column that is computed, and exports of nsys have none",
                      table);
    return status;
}

// Its bytes in the file.
static size_t read_value(const struct sqlite_file *file, void *statement, int column,
                         struct sqlite_value *value)
{
    *value = (struct sqlite_value){.column = file->column_name(statement, column)};
    if (!value->column)
        value->column = "";
    const int type = file->column_type(statement, column);
    switch (type) {
    case INTEGER:
        value->kind = SQLITE_INT_VALUE;
        value->integer = file->column_int64(statement, column);
        break;
    case FLOAT:
        value->kind = SQLITE_REAL_VALUE;
        value->real = file->column_double(statement, column);
        break;
    case TEXT:
        value->text.bytes = file->column_text(statement, column);
        value->text.count = value->text.bytes ? (size_t)file->column_bytes(statement, column) : 0;
        value->kind = value->text.bytes ? SQLITE_TEXT_VALUE : SQLITE_NULL_VALUE;
        break;
    default:
        break;
    }
    return type == BLOB ? (size_t)file->column_bytes(statement, column) : value->text.count;
}

static int read_row(struct sqlite_file *file, void *statement, struct sqlite_value *values,
                    int count)
{
    uint64_t bytes = LEAST_ROW_BYTES;
    for (int i = 0; i < count; i++)
        bytes += read_value(file, statement, i, &values[i]);
    if (bytes > file->left_bytes)
        return fail(GAIT_ERR_FORMAT, "its rows are more than a file of its length can hold");
    file->left_bytes -= bytes;
    return 0;
}

int sqlite_file_rows(struct sqlite_file *file, const char *table, sqlite_visit *visit,
                     void *context, bool *ret_is_cut)
{
    struct sqlite_value values[SQLITE_MOST_COLUMNS];
    char sql[128];
    void *statement = NULL;
    bool has;
    int status = has_table(file, table, &has);
    if (status || !has)
        return status;
    snprintf(sql, sizeof sql, "SELECT * FROM main.\"%s\"", table);
    if (file->prepare(file->database, sql, -1, &statement, NULL) != OK) {
        *ret_is_cut = true;
        return 0;
    }
    int count = file->column_count(statement);
    if (count > SQLITE_MOST_COLUMNS)
        count = SQLITE_MOST_COLUMNS;
    int got = DONE;
    while (!status && (got = file->step(statement)) == ROW) {
        status = read_row(file, statement, values, count);
        if (!status)
            status = visit(values, count, context);
    }
    *ret_is_cut |= !status && got != DONE;
    file->finalize(statement);
    return status;
}
