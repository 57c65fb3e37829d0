// SPDX-License-Identifier: Apache-2.0
// DuckDB's library, found when it is asked for: what of its C interface `gait sql` calls.
#ifndef GAIT_CLI_DUCKDB_LIBRARY_H
#define GAIT_CLI_DUCKDB_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/error.h>

struct duckdb_answer {
    _Alignas(16) char bytes[256]; // its duckdb_result, which has 48
};

// Its numbers of types, as far as they are numbers.
enum duckdb_kind {
    DUCKDB_BOOLEAN = 1,
    DUCKDB_TINYINT = 2,
    DUCKDB_BIGINT = 5,
    DUCKDB_UTINYINT = 6,
    DUCKDB_UBIGINT = 9,
    DUCKDB_FLOAT = 10,
    DUCKDB_DOUBLE = 11,
    DUCKDB_HUGEINT = 16, // of 128 bits
    DUCKDB_DECIMAL = 19, // the last that value_varchar knows: it has no text for a list
};

struct duckdb_library {
    int (*open)(const char *path, void **ret_database); // 0: done; as query() and connect()
    int (*connect)(void *database, void **ret_connection);
    int (*query)(void *connection, const char *sql, void *ret_answer);
    const char *(*result_error)(void *answer);
    uint64_t (*column_count)(void *answer);
    uint64_t (*row_count)(void *answer);
    const char *(*column_name)(void *answer, uint64_t column);
    int (*column_type)(void *answer, uint64_t column);
    bool (*value_is_null)(void *answer, uint64_t column, uint64_t row);
    char *(*value_varchar)(void *answer, uint64_t column, uint64_t row); // for free()
    void (*free)(void *memory);
    void (*destroy_result)(void *answer);
    void (*disconnect)(void **connection);
    void (*close)(void **database);
    void *handle;
};

// $GAIT_DUCKDB, else what the loader finds, else the package of the Python in PATH. Fails with a
// line that says how to get it.
GAIT_CHECK int duckdb_library_load(struct duckdb_library *library);

#endif
