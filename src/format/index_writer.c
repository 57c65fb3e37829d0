// SPDX-License-Identifier: Apache-2.0
// Frames noted as rows of the index table, in its column order.
#include "format/index_writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/invariant.h"

#define MAX_LISTED (1u << 18) // frames of one batch at the very most

void index_writer_init(struct index_writer *index)
{
    *index = (struct index_writer){0};
    buffer_init(&index->rows, (size_t)MAX_LISTED * INDEX_WRITER_COLUMNS * sizeof(uint64_t));
}

void index_writer_finish(struct index_writer *index)
{
    if (index)
        buffer_finish(&index->rows);
}

static int note_frame(struct index_writer *index, const struct frame_header *header,
                      uint64_t offset)
{
    const uint64_t row[INDEX_WRITER_COLUMNS] = {
        offset,       header->stored_bytes, header->table, header->track,
        header->rows, header->events,       header->first, header->last,
    };
    if (header->table == TABLE_INDEX) {
        index->rows.used = 0;
        index->count = 0;
        index->last_offset = offset;
    }
    int status = buffer_append(&index->rows, row, sizeof(row));
    if (status)
        return fail_because(status, "cannot list frame %llu", (unsigned long long)header->sequence);
    index->count++;
    index->frame_count++;
    return 0;
}

int index_writer_add(struct index_writer *index, struct slice batch, uint64_t offset)
{
    size_t at = 0;
    while (at + FRAME_HEADER_BYTES <= batch.count) {
        struct frame_header header;
        int status = frame_header_read(batch.bytes + at, &header);
        if (status == 0)
            status = note_frame(index, &header, offset + at);
        if (status)
            return status;
        at += FRAME_HEADER_BYTES + header.stored_bytes;
    }
    return 0;
}

bool index_writer_is_due(const struct index_writer *index)
{
    return index->count >= FRAME_INDEX_EVERY;
}

int index_writer_write(const struct index_writer *index, struct table_writer *writer)
{
    const struct table_about about = {0};
    const uint64_t *rows = (const uint64_t *)(const void *)index->rows.bytes;
    uint64_t *column = malloc((index->count + 1) * sizeof(*column));
    if (!column)
        return fail(GAIT_ERR_MEMORY, "no memory for an index of %u frames", index->count);
    GAIT_ASSERT(index->rows.used == (size_t)index->count * INDEX_WRITER_COLUMNS * sizeof(uint64_t));
    table_begin(writer, TABLE_INDEX, 0, index->count);
    for (uint16_t c = 0; c < INDEX_WRITER_COLUMNS; c++) {
        for (uint32_t i = 0; i < index->count; i++) {
            column[i] = rows[(size_t)i * INDEX_WRITER_COLUMNS + c];
        }
        table_put(writer, c, TRANSFORM_DELTA, column);
    }
    free(column);
    return table_end(writer, &about, NULL);
}
