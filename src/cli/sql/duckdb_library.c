// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "cli/sql/duckdb_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
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

// Python's package has the functions of C, too. It lacks its Python's, which a program that is no
// Python finds in libpython. Nothing is taken from the folder one stands in.
static const char ask_python[] =
    "cd / && for python in python python3; do $python -c '"
    "import glob, os, sys, sysconfig\n"
    "get, libraries = sysconfig.get_config_var, []\n"
    "for folder in filter(None, sys.path):\n"
    "    for name in \"_duckdb*.so\", \"duckdb/duckdb*.so\":\n"
    "        libraries += glob.glob(os.path.join(glob.escape(folder), name))\n"
    "folders = [str(get(\"LIBDIR\")), os.path.join(sys.base_prefix, \"lib\")]\n"
    "names = [str(get(\"INSTSONAME\")), str(get(\"LDLIBRARY\"))]\n"
    "paths = [os.path.join(folder, name) for folder in folders for name in names]\n"
    "shared = [path for path in paths if \".so\" in path and os.path.exists(path)]\n"
    "print(sys.executable, *shared[:1] or [names[0]], *libraries[:1], sep=\"\\n\")"
    "' 2>/dev/null && break; done";

struct found {
    char python[PATH_MAX], shared[PATH_MAX], path[PATH_MAX]; // "": not here
};

static void read_line(FILE *input, char line[PATH_MAX])
{
    if (!input || !fgets(line, PATH_MAX, input))
        *line = '\0';
    line[strcspn(line, "\n")] = '\0';
}

// Of the Python in PATH: in a virtual environment that is its own.
static int load_of_python(struct found *found, void **ret_handle)
{
    FILE *input = popen(ask_python, "re");
    read_line(input, found->python);
    read_line(input, found->shared);
    read_line(input, found->path);
    if (input)
        pclose(input);
    if (!*found->path)
        return fail(GAIT_ERR_MISSING,
                    "DuckDB's library is not here: '%s -m pip install duckdb' brings it (or set "
                    "GAIT_DUCKDB to the path of libduckdb.so)",
                    *found->python ? found->python : "python3");
    if (!dlopen(found->shared, RTLD_LAZY | RTLD_GLOBAL))
        return fail(GAIT_ERR_MISSING,
                    "'%s' needs the shared library of its Python, which is not here: install "
                    "'%s', or set GAIT_DUCKDB to the path of libduckdb.so",
                    found->path, found->shared);
    *ret_handle = dlopen(found->path, RTLD_LAZY | RTLD_LOCAL);
    return *ret_handle ? GAIT_OK : fail(GAIT_ERR_MISSING, "DuckDB cannot be loaded: %s", dlerror());
}

int duckdb_library_load(struct duckdb_library *library)
{
    const char *wished = getenv("GAIT_DUCKDB");
    const bool is_wished = wished && *wished;
    struct found found = {.path = "libduckdb.so"};
    *library = (struct duckdb_library){
        .handle = dlopen(is_wished ? wished : found.path, RTLD_NOW | RTLD_LOCAL)};
    if (!library->handle && is_wished)
        return fail(GAIT_ERR_MISSING, "GAIT_DUCKDB cannot be loaded: %s", dlerror());
    int status = library->handle ? GAIT_OK : load_of_python(&found, &library->handle);
    for (size_t i = 0; !status && i < sizeof functions / sizeof functions[0]; i++) {
        void *function = dlsym(library->handle, functions[i].name);
        if (!function)
            return fail(GAIT_ERR_MISSING, "'%s' has no %s: it is no library of DuckDB's",
                        is_wished ? wished : found.path, functions[i].name);
        memcpy((char *)library + functions[i].offset, &function, sizeof function);
    }
    return status;
}
