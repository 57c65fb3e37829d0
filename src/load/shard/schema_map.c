// SPDX-License-Identifier: Apache-2.0
// Where our columns stand in somebody's tables.
#include "load/shard/schema_map.h"

#include <string.h>

void schema_map_init(struct schema_map *map)
{
    memset(map, 0, sizeof(*map));
    for (uint32_t table = 0; table < TABLE_COUNT; table++)
        for (uint8_t column = 0; column < SCHEMA_MAX_COLUMNS; column++)
            map->places[table][column] = column;
}

void schema_map_describe(struct schema_map *map, const struct schema_row *row)
{
    // the schema table itself cannot describe itself otherwise
    if (row->table == TABLE_SCHEMA || row->table >= TABLE_COUNT ||
        row->index >= SCHEMA_MAX_COLUMNS || !row->column.count)
        return;
    const struct table_schema *table = schema_table((uint32_t)row->table);
    if (!table)
        return;
    if (!map->is_described[row->table]) {
        memset(map->places[row->table], SCHEMA_MAP_ABSENT, SCHEMA_MAX_COLUMNS);
        map->is_described[row->table] = 1;
    }
    enum column_type type = schema_type_by_name((const char *)row->type.bytes, row->type.count);
    for (uint32_t i = 0; i < table->column_count; i++)
        if (slice_is(row->column, table->columns[i].name) && type < COLUMN_TYPE_COUNT &&
            schema_type_is_number(type) == schema_type_is_number(table->columns[i].type))
            map->places[row->table][i] = (uint8_t)row->index;
}
