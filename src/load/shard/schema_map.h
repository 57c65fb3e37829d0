// SPDX-License-Identifier: Apache-2.0
// Where the columns that we know stand in the tables of one shard: its schema
// frames count, not our numbering.
#ifndef GAIT_LOAD_SCHEMA_MAP_H
#define GAIT_LOAD_SCHEMA_MAP_H

#include <stdint.h>

#include "base/slice.h"
#include "format/schema.h"

#define SCHEMA_MAP_ABSENT 0xff

struct schema_map {
    uint8_t places[TABLE_COUNT][SCHEMA_MAX_COLUMNS]; // our column -> the file's
    uint8_t is_described[TABLE_COUNT];
};

// One row of a schema frame.
struct schema_row {
    uint64_t table, index;
    struct slice column, type;
};

void schema_map_init(struct schema_map *map); // as in docs/FORMAT.md

// Takes a row into account: from the first one on, a table has only the columns
// that its rows describe. What we do not know is passed over.
void schema_map_describe(struct schema_map *map, const struct schema_row *row);

// Whether values of that type are numbers (else they are bytes).
static inline int schema_type_is_number(enum column_type type)
{
    return type != COLUMN_BYTES && type != COLUMN_JSON && type != COLUMN_ARGS;
}

#endif
