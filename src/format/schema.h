// SPDX-License-Identifier: Apache-2.0
// The tables of the file format, one line a table (docs/FORMAT.md section 4).
// A new table is a line here, its columns in schema.c, a golden file and a section
// in FORMAT.md.
#ifndef GAIT_FORMAT_SCHEMA_H
#define GAIT_FORMAT_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum column_type {
    COLUMN_UINT,
    COLUMN_INT,
    COLUMN_REAL,
    COLUMN_TIME,
    COLUMN_TICKS,
    COLUMN_STRING,
    COLUMN_SITE,
    COLUMN_TRACK,
    COLUMN_STACK,
    COLUMN_BYTES,
    COLUMN_JSON,
    COLUMN_ARGS,
    COLUMN_TYPE_COUNT,
};

static inline bool schema_holds_bytes(enum column_type type)
{
    return type == COLUMN_BYTES || type == COLUMN_JSON || type == COLUMN_ARGS;
}

// How a column is stored (FORMAT.md section 2).
enum column_transform {
    TRANSFORM_NONE,
    TRANSFORM_ZIGZAG,
    TRANSFORM_DELTA,
    TRANSFORM_RISE,
    TRANSFORM_CLIMB,
    TRANSFORM_NESTED,
    TRANSFORM_NESTED_RISE,
};
enum column_packing {
    PACKING_QUAD,
    PACKING_FIXED64,
    PACKING_BYTES,
    PACKING_CONSTANT,
    PACKING_NIBBLE,
    PACKING_QUAD5,
    PACKING_QUAD4,
};
enum column_compression { COMPRESSION_NONE, COMPRESSION_ZSTD };

// Columns that the nested transform takes together (nested_times.h).
#define NESTED_STARTS 0
#define NESTED_DURATIONS 1
#define NESTED_DEPTHS 3 // a table without that column: depth 0

static inline bool transform_is_nested(unsigned transform)
{
    return transform == TRANSFORM_NESTED || transform == TRANSFORM_NESTED_RISE;
}

// X(identifier, id, "name"); the columns of each are X-lists in schema.c.
#define SCHEMA_TABLES(X)                                                                           \
    X(SCHEMA, 0, "schema")                                                                         \
    X(META, 1, "meta")                                                                             \
    X(STRING, 2, "string")                                                                         \
    X(SITE, 3, "site")                                                                             \
    X(TRACK, 4, "track")                                                                           \
    X(CLOCK, 5, "clock")                                                                           \
    X(SPAN, 6, "span")                                                                             \
    X(MARK, 7, "mark")                                                                             \
    X(COUNTER, 8, "counter")                                                                       \
    X(COUNTER_REAL, 9, "counter_real")                                                             \
    X(ASYNC, 10, "async")                                                                          \
    X(FLOW, 11, "flow")                                                                            \
    X(STEP, 12, "step")                                                                            \
    X(DROP, 13, "drop")                                                                            \
    X(OPEN, 14, "open")                                                                            \
    X(COMMIT, 15, "commit")                                                                        \
    X(COST, 16, "cost")                                                                            \
    X(STACK, 17, "stack")                                                                          \
    X(SAMPLE, 18, "sample")                                                                        \
    X(MEMORY, 19, "memory")                                                                        \
    X(LOG, 20, "log")                                                                              \
    X(INDEX, 21, "index")                                                                          \
    X(LOD, 22, "lod")                                                                              \
    X(FORM, 23, "form")                                                                            \
    X(FACT, 24, "fact")

enum table_id {
#define X(identifier, id, name) TABLE_##identifier = id,
    SCHEMA_TABLES(X)
#undef X
        TABLE_COUNT
};

struct column_schema {
    const char *name;
    enum column_type type;
};

struct table_schema {
    const char *name;
    const struct column_schema *columns;
    uint32_t column_count;
    uint32_t own_count; // the first so many of them a recorder of ours may write
    bool is_event;      // its rows are events (FORMAT.md section 6)
};

#define SCHEMA_MAX_COLUMNS 32

// Columns that stand at the end of each table of events that may come from a foreign
// trace: what ties an event to others, and the arguments that its form leaves open.
enum blank {
    BLANK_LINK,
    BLANK_OP,
    BLANK_BYTES,
    BLANK_VALUE, // v1 and the ones behind it
    BLANK_COUNT = BLANK_VALUE + 6,
};

// The schema of a table this version knows, or NULL.
const struct table_schema *schema_table(uint32_t table);

const char *schema_type_name(enum column_type type);

// The type of that name, or COLUMN_TYPE_COUNT.
enum column_type schema_type_by_name(const char *name, size_t bytes);

#endif
