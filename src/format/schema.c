// SPDX-License-Identifier: Apache-2.0
#include "format/schema.h"

#include <string.h>

#include "format/columns.h"

#define FOREIGN_COUNT (BLANK_COUNT + 1)
#define FOREIGN_TABLES                                                                             \
    (1u << TABLE_SPAN | 1u << TABLE_MARK | 1u << TABLE_COUNTER | 1u << TABLE_COUNTER_REAL |        \
     1u << TABLE_ASYNC | 1u << TABLE_FLOW)

#define ROW(column_name, column_type) {#column_name, COLUMN_##column_type},
#define X(identifier, id, name)                                                                    \
    static const struct column_schema columns_##identifier[] = {COLUMNS_##identifier(ROW)};        \
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
    (((id) == TABLE_FORM || (id) == TABLE_FACT)                                                    \
         ? 0                                                                                       \
         : sizeof(columns_##identifier) / sizeof(struct column_schema) -                           \
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
