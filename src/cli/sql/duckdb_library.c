// SPDX-License-Identifier: Apache-2.0
#include "cli/sql/duckdb_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define FUNCTION(member) {"duckdb_" #member, offsetof(struct duckdb_library, member)}
    FUNCTION(open),          FUNCTION(connect),      FUNCTION(query),
    FUNCTION(result_error),  FUNCTION(column_count), FUNCTION(row_count),
    FUNCTION(column_name),   FUNCTION(column_type),  FUNCTION(value_is_null),
    FUNCTION(value_varchar), FUNCTION(free),         FUNCTION(destroy_result),
    FUNCTION(disconnect),    FUNCTION(close),
#undef FUNCTION
};

int duckdb_library_load(struct duckdb_library *library)
{
    const char *wished = getenv("GAIT_DUCKDB");
    const bool is_wished = wished && *wished;
    *library = (struct duckdb_library){
        .handle = dlopen(is_wished ? wished : "libduckdb.so", RTLD_NOW | RTLD_LOCAL)};
    if (!library->handle && is_wished)
        return fail(GAIT_ERR_MISSING, "GAIT_DUCKDB cannot be loaded: %s", dlerror());
    if (!library->handle)
        return fail(GAIT_ERR_MISSING,
                    "DuckDB's library is not here: unpack libduckdb.so of a release of DuckDB, or "
                    "of npm's @duckdb/node-bindings-linux-x64, and set GAIT_DUCKDB to its path");
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *function = dlsym(library->handle, functions[i].name);
        if (!function)
            return fail(GAIT_ERR_MISSING, "'%s' has no %s: it is no library of DuckDB's",
                        is_wished ? wished : "libduckdb.so", functions[i].name);
        memcpy((char *)library + functions[i].offset, &function, sizeof function);
    }
    return GAIT_OK;
}
