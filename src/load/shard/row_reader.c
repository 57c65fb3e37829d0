// SPDX-License-Identifier: Apache-2.0
// All columns of one frame at a time.
#include "load/shard/row_reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"

#define FRAME_BYTES_LIMIT (FRAME_MAX_PAYLOAD + 2 * FRAME_HEADER_BYTES)
#define TEXT_LIMIT (FRAME_MAX_RAW + 64)

int row_reader_init(struct row_reader *reader)
{
    memset(reader, 0, sizeof(*reader));
    buffer_init(&reader->payload, FRAME_BYTES_LIMIT);
    for (size_t i = 0; i < SCHEMA_MAX_COLUMNS; i++)
        buffer_init(&reader->columns[i].text, TEXT_LIMIT);
    return table_reader_init(&reader->reader);
}

void row_reader_finish(struct row_reader *reader)
{
    if (!reader)
        return;
    for (size_t i = 0; i < SCHEMA_MAX_COLUMNS; i++) {
        free(reader->columns[i].numbers);
        free(reader->columns[i].slices);
        buffer_finish(&reader->columns[i].text);
    }
    buffer_finish(&reader->payload);
    table_reader_finish(&reader->reader);
}

static int load_numbers(struct row_reader *reader, struct row_column *column, uint8_t place)
{
    int status = ARRAY_RESERVE(column->numbers, column->number_capacity,
                               reader->rows ? reader->rows : 1, FRAME_MAX_ROWS);

    if (status)
        return status;
    if (place != SCHEMA_MAP_ABSENT)
        return table_read(&reader->reader, &reader->view, place, column->numbers);
    memset(column->numbers, 0, reader->rows * sizeof(*column->numbers));
    return 0;
}

static int load_slices(struct row_reader *reader, struct row_column *column, uint8_t place)
{
    int status = ARRAY_RESERVE(column->slices, column->slice_capacity,
                               reader->rows ? reader->rows : 1, FRAME_MAX_ROWS);

    if (status)
        return status;
    if (place != SCHEMA_MAP_ABSENT)
        return table_read_bytes(&reader->reader, &reader->view, place, &column->text,
                                column->slices);
    column->text.used = 0;
    memset(column->slices, 0, reader->rows * sizeof(*column->slices));
    return 0;
}

int row_reader_load(struct row_reader *reader, struct shard *shard, size_t frame,
                    const struct schema_map *map)
{
    uint16_t number = shard->list.entries[frame].table;
    const struct table_schema *table = schema_table(number);
    int status = shard_read(shard, frame, &reader->payload, &reader->view);

    if (status)
        return status;
    reader->rows = reader->view.header.rows;
    for (uint32_t i = 0; !status && i < table->column_count; i++) {
        uint8_t place = map->places[number][i];

        status = schema_type_is_number(table->columns[i].type)
                     ? load_numbers(reader, &reader->columns[i], place)
                     : load_slices(reader, &reader->columns[i], place);
    }
    if (status && status != GAIT_ERR_MEMORY)
        return shard_reject(shard, frame, fail_text());
    return status;
}
