// SPDX-License-Identifier: Apache-2.0
// Events go to DuckDB as the Parquet files that `gait export` writes, in a folder of its own
// that is gone before the question is asked.
#define _GNU_SOURCE
#include "cli/sql/sql_table.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/own_file.h"
#include "cli/io/parquet_files.h"

enum { MOST_COLUMNS = 1024, SQL_BYTES = 2 * PATH_MAX + 256 };

static int run(struct sql_table *table, const char *sql, struct duckdb_answer *ret_answer)
{
    memset(ret_answer, 0, sizeof *ret_answer);
    if (!table->library.query(table->connection, sql, ret_answer))
        return GAIT_OK;
    const char *why = table->library.result_error(ret_answer);
    if (!why)
        why = "DuckDB does not say why it failed";
    int status = fail(GAIT_ERR_ARGUMENT, "%.*s", (int)strcspn(why, "\n"), why); // the first line
    table->library.destroy_result(ret_answer);
    return status;
}

// --- the table -------------------------------------------------------------------------

static int load(struct sql_table *table, const char *folder)
{
    char sql[SQL_BYTES], quoted[2 * PATH_MAX];
    struct duckdb_answer answer;
    size_t used = 0;
    for (const char *at = folder; *at && used + 3 < sizeof quoted; at++) {
        if (*at == '\'')
            quoted[used++] = '\'';
        quoted[used++] = *at;
    }
    quoted[used] = '\0';
    snprintf(sql, sizeof sql,
             "CREATE TABLE events AS SELECT * REPLACE (TRY_CAST(rank AS BIGINT) AS rank) FROM "
             "read_parquet('%s/**/*.parquet', hive_partitioning = true)",
             quoted);
    int status = run(table, sql, &answer);
    if (!status)
        table->library.destroy_result(&answer);
    return status;
}

static int fill(struct sql_table *table, struct gait_trace *trace, const char *path)
{
    const struct gait_export_options options = {.size = sizeof options, .format = "parquet"};
    char folder[PATH_MAX];
    int status = own_folder_temporary(folder, "gait-sql");
    if (status)
        return status;
    status = parquet_files_write(
        trace, &options, &(struct parquet_place){.folder = folder, .path = path, .is_quiet = true});
    if (!status)
        status = load(table, folder);
    own_folder_remove(folder);
    return status;
}

int sql_table_open(struct sql_table *table, struct gait_trace *trace, const char *path)
{
    *table = (struct sql_table){.database = NULL};
    int status = duckdb_library_load(&table->library);
    if (!status && (table->library.open(NULL, &table->database) ||
                    table->library.connect(table->database, &table->connection)))
        status = fail(GAIT_ERR_MEMORY, "DuckDB cannot open a database in memory");
    return status ? status : fill(table, trace, path);
}

void sql_table_close(struct sql_table *table)
{
    if (table->has_texts)
        table->library.destroy_result(&table->texts);
    if (table->has_answer)
        table->library.destroy_result(&table->answer);
    if (table->connection)
        table->library.disconnect(&table->connection);
    if (table->database)
        table->library.close(&table->database);
}

// --- answers ---------------------------------------------------------------------------

static bool is_number(int kind)
{
    return (kind >= DUCKDB_TINYINT && kind <= DUCKDB_DOUBLE) || kind == DUCKDB_HUGEINT ||
           kind == DUCKDB_DECIMAL;
}

// Numbers stand as DuckDB writes them: sums have 128 bits, and three digits of a mean of ns are
// few. What it has words for, nan and inf, is none.
static struct value value_of(int kind, const char *text)
{
    if (kind == DUCKDB_BOOLEAN)
        return value_bool(strcmp(text, "true") == 0);
    if (!is_number(kind))
        return value_text(text);
    return *text && strspn(text, "+-.e0123456789") == strlen(text) ? value_json(text)
                                                                   : value_none();
}

static void put_row(struct sql_table *table, uint64_t row, const struct table *shape,
                    struct sheet *sheet)
{
    const struct duckdb_library *library = &table->library;
    struct duckdb_answer *from = table->has_texts ? &table->texts : &table->answer;
    struct value cells[MOST_COLUMNS];
    char *texts[MOST_COLUMNS];
    for (size_t i = 0; i < shape->count; i++) {
        texts[i] =
            library->value_is_null(from, i, row) ? NULL : library->value_varchar(from, i, row);
        cells[i] =
            texts[i] ? value_of(library->column_type(&table->answer, i), texts[i]) : value_none();
    }
    sheet_row(sheet, cells, 0);
    for (size_t i = 0; i < shape->count; i++)
        library->free(texts[i]);
}

static int put_answer(struct sql_table *table, struct sheet *sheet)
{
    const struct duckdb_library *library = &table->library;
    struct duckdb_answer *answer = &table->answer;
    const uint64_t count = library->column_count(answer), rows = library->row_count(answer);
    struct column *columns = calloc((size_t)count + 1, sizeof *columns);
    if (!columns || count > MOST_COLUMNS) {
        free(columns);
        return fail(GAIT_ERR_ARGUMENT, "the answer has more than %d columns", MOST_COLUMNS);
    }
    for (uint64_t i = 0; i < count; i++) {
        const char *name = library->column_name(answer, i);
        const unsigned flags = is_number(library->column_type(answer, i)) ? 0 : COLUMN_LEFT;
        columns[i] = (struct column){.key = name, .label = name, .flags = flags};
    }
    const struct table shape = {.key = "rows",
                                .heading = "Rows",
                                .columns = columns,
                                .count = (size_t)count,
                                .look = TABLE_GRID,
                                .widest = 200};
    sheet_table_copy(sheet, &shape);
    for (uint64_t row = 0; row < rows; row++)
        put_row(table, row, &shape, sheet);
    sheet_end(sheet);
    free(columns);
    return GAIT_OK;
}

// A list, a struct or a bare NULL has no text by that interface: it is nothing then, and a column
// behind it is read where no memory is. So DuckDB makes texts of all, in a second run.
static int ask_for_texts(struct sql_table *table, const char *sql)
{
    char *whole = NULL;
    size_t end = strlen(sql), odd = 0;
    const uint64_t count = table->library.column_count(&table->answer);
    while (odd < count && table->library.column_type(&table->answer, odd) <= DUCKDB_DECIMAL)
        odd++;
    if (odd == count)
        return GAIT_OK;
    while (end && strchr("; \t\r\n", sql[end - 1]))
        end--;
    if (asprintf(&whole, "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM (%.*s\n)", (int)end, sql) < 0)
        return fail(GAIT_ERR_MEMORY, "no memory for a statement");
    const int status = run(table, whole, &table->texts);
    free(whole);
    table->has_texts = !status;
    return status ? fail(GAIT_ERR_ARGUMENT,
                         "the type of column '%s' has no text here: write CAST(... AS VARCHAR)",
                         table->library.column_name(&table->answer, odd))
                  : GAIT_OK;
}

int sql_table_ask(struct sql_table *table, const char *sql, struct sheet *sheet)
{
    int status = run(table, sql, &table->answer);
    table->has_answer = !status;
    if (!status)
        status = ask_for_texts(table, sql);
    return status ? status : put_answer(table, sheet);
}
