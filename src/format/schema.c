// SPDX-License-Identifier: Apache-2.0
// The columns of every table, in the order of FORMAT.md section 4.
#include "format/schema.h"

#include <string.h>

// What a form leaves open stands in the columns around it, in the order of enum blank.
#define COLUMNS_FOREIGN(X)                                                                         \
    X("link", UINT)                                                                                \
    X("op", UINT)                                                                                  \
    X("bytes", INT)                                                                                \
    X("v1", INT)                                                                                   \
    X("v2", INT) X("v3", INT) X("v4", INT) X("v5", INT) X("v6", INT) X("form", UINT)
#define FOREIGN_COUNT (BLANK_COUNT + 1)
#define FOREIGN_TABLES                                                                             \
    (1u << TABLE_SPAN | 1u << TABLE_MARK | 1u << TABLE_COUNTER | 1u << TABLE_COUNTER_REAL |        \
     1u << TABLE_ASYNC | 1u << TABLE_FLOW)

#define COLUMNS_SCHEMA(X)                                                                          \
    X("table", UINT) X("name", BYTES) X("index", UINT) X("column", BYTES) X("type", BYTES)
#define COLUMNS_META(X) X("key", BYTES) X("value", JSON)
#define COLUMNS_STRING(X) X("id", UINT) X("text", BYTES)
#define COLUMNS_SITE(X)                                                                            \
    X("id", UINT) X("category", STRING) X("name", STRING) X("file", STRING) X("line", UINT)
#define COLUMNS_TRACK(X)                                                                           \
    X("id", UINT)                                                                                  \
    X("kind", UINT)                                                                                \
    X("key", BYTES)                                                                                \
    X("name", BYTES) X("clock", UINT) X("parent", TRACK) X("os_id", INT) X("internal", UINT)
#define COLUMNS_CLOCK(X)                                                                           \
    X("clock", UINT) X("tick", TIME) X("raw_ns", INT) X("real_ns", INT) X("error_ns", UINT)
#define COLUMNS_SPAN(X)                                                                            \
    X("start", TIME)                                                                               \
    X("duration", TICKS) X("site", SITE) X("depth", UINT) X("args", ARGS) COLUMNS_FOREIGN(X)
#define COLUMNS_MARK(X) X("start", TIME) X("site", SITE) X("args", ARGS) COLUMNS_FOREIGN(X)
#define COLUMNS_COUNTER(X) X("start", TIME) X("site", SITE) X("value", INT) COLUMNS_FOREIGN(X)
#define COLUMNS_COUNTER_REAL(X) X("start", TIME) X("site", SITE) X("value", REAL) COLUMNS_FOREIGN(X)
#define COLUMNS_ASYNC(X)                                                                           \
    X("start", TIME)                                                                               \
    X("site", SITE) X("id", UINT) X("phase", UINT) X("args", ARGS) COLUMNS_FOREIGN(X)
#define COLUMNS_FLOW(X)                                                                            \
    X("start", TIME) X("site", SITE) X("id", UINT) X("phase", UINT) COLUMNS_FOREIGN(X)
#define COLUMNS_STEP(X) X("start", TIME) X("duration", TICKS) X("number", UINT)
#define COLUMNS_DROP(X) X("start", TIME) X("duration", TICKS) X("events", UINT) X("reason", STRING)
#define COLUMNS_OPEN(X)                                                                            \
    X("track", TRACK)                                                                              \
    X("start", TIME)                                                                               \
    X("site", SITE) X("depth", UINT) X("number", UINT) X("is_step", UINT) X("args", ARGS)
#define COLUMNS_COMMIT(X) X("track", TRACK) X("position", UINT) X("lost", UINT) X("begun", UINT)
#define COLUMNS_COST(X) X("start", TIME) X("cpu_ns", UINT) X("bytes", UINT)
#define COLUMNS_STACK(X) X("id", UINT) X("parent", STACK) X("site", SITE) X("line", UINT)
#define COLUMNS_SAMPLE(X) X("start", TIME) X("stack", STACK) X("weight", INT) X("state", UINT)
#define COLUMNS_MEMORY(X)                                                                          \
    X("start", TIME)                                                                               \
    X("kind", UINT) X("address", UINT) X("bytes", INT) X("total", INT) X("site", SITE)
#define COLUMNS_LOG(X) X("start", TIME) X("level", UINT) X("text", BYTES)
#define COLUMNS_INDEX(X)                                                                           \
    X("offset", UINT)                                                                              \
    X("stored_bytes", UINT)                                                                        \
    X("table", UINT)                                                                               \
    X("track", TRACK) X("rows", UINT) X("events", UINT) X("first", TIME) X("last", TIME)
#define COLUMNS_LOD(X)                                                                             \
    X("level", UINT)                                                                               \
    X("start", TIME)                                                                               \
    X("duration", TICKS)                                                                           \
    X("count", UINT) X("busy", TICKS) X("longest", TICKS) X("site", SITE) X("depth", UINT)
#define COLUMNS_FORM(X) X("id", UINT) X("args", ARGS) X("fields", ARGS)

#define COLUMN(column_name, column_type) {column_name, COLUMN_##column_type},
#define X(identifier, id, name)                                                                    \
    static const struct column_schema columns_##identifier[] = {COLUMNS_##identifier(COLUMN)};     \
    _Static_assert(sizeof(columns_##identifier) / sizeof(struct column_schema) <=                  \
                       SCHEMA_MAX_COLUMNS,                                                         \
                   "too many columns");
SCHEMA_TABLES(X)
#undef X

// FORMAT.md section 6. Rows of open come again at each commit, so that a row is
// not an event there.
#define EVENT_TABLES                                                                               \
    (1u << TABLE_SPAN | 1u << TABLE_MARK | 1u << TABLE_COUNTER | 1u << TABLE_COUNTER_REAL |        \
     1u << TABLE_ASYNC | 1u << TABLE_FLOW | 1u << TABLE_STEP | 1u << TABLE_SAMPLE |                \
     1u << TABLE_MEMORY | 1u << TABLE_LOG)

#define OWN_COUNT(identifier, id)                                                                  \
    ((id) == TABLE_FORM ? 0                                                                        \
                        : sizeof(columns_##identifier) / sizeof(struct column_schema) -            \
                              ((FOREIGN_TABLES >> (id) & 1) ? FOREIGN_COUNT : 0))

static const struct table_schema tables[TABLE_COUNT] = {
#define X(identifier, id, table_name)                                                              \
    [id] = {table_name, columns_##identifier,                                                      \
            sizeof(columns_##identifier) / sizeof(struct column_schema),                           \
            (uint32_t)OWN_COUNT(identifier, id), (EVENT_TABLES >> (id) & 1) != 0},
    SCHEMA_TABLES(X)
#undef X
};

static const char *const type_names[COLUMN_TYPE_COUNT] = {
    [COLUMN_UINT] = "uint",   [COLUMN_INT] = "int",     [COLUMN_REAL] = "real",
    [COLUMN_TIME] = "time",   [COLUMN_TICKS] = "ticks", [COLUMN_STRING] = "string",
    [COLUMN_SITE] = "site",   [COLUMN_TRACK] = "track", [COLUMN_STACK] = "stack",
    [COLUMN_BYTES] = "bytes", [COLUMN_JSON] = "json",   [COLUMN_ARGS] = "args",
};

const struct table_schema *schema_table(uint32_t table)
{
    return table < TABLE_COUNT ? &tables[table] : NULL;
}

const char *schema_type_name(enum column_type type)
{
    return (unsigned)type < COLUMN_TYPE_COUNT ? type_names[type] : "unknown";
}

enum column_type schema_type_by_name(const char *name, size_t bytes)
{
    for (int type = 0; type < COLUMN_TYPE_COUNT; type++)
        if (strlen(type_names[type]) == bytes && memcmp(type_names[type], name, bytes) == 0)
            return (enum column_type)type;
    return COLUMN_TYPE_COUNT;
}
