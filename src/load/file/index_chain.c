// SPDX-License-Identifier: Apache-2.0
// Frames from the index chain. The chain is walked from its end, so the parts
// are put into the list back to front; then every entry must touch the next
// one, which leaves no room for a lie about offsets.
#include "load/file/index_chain.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fail.h"
#include "format/columns.h"
#include "format/table_reader.h"

#define NO_OFFSET UINT64_MAX

struct chain {
    struct file_source *source;
    struct table_reader reader;
    struct buffer payload;
    uint64_t *columns; // of one index frame
    size_t column_capacity;
    struct frame_entry *entries; // filled from the back
    size_t left, total;          // entries not filled yet
    uint64_t offset;             // of the index frame to be read next
    uint64_t end;                // where that frame must end at the latest
};

static int read_trailer(struct chain *chain)
{
    uint8_t bytes[FRAME_TRAILER_BYTES];
    struct file_source *source = chain->source;
    struct frame_trailer trailer;

    if (source->bytes < FRAME_TRAILER_BYTES)
        return fail(GAIT_ERR_FORMAT, "no trailer");
    chain->end = source->bytes - FRAME_TRAILER_BYTES;
    int status = file_source_read(source, chain->end, bytes, sizeof(bytes));
    if (!status)
        status = frame_trailer_read(bytes, &trailer);
    if (status)
        return status;
    // a frame takes at least its header: no list longer than the file allows
    if (!trailer.frame_count || trailer.frame_count > source->bytes / FRAME_HEADER_BYTES)
        return fail(GAIT_ERR_FORMAT, "the trailer counts more frames than the file can hold");
    chain->offset = trailer.index_offset;
    chain->left = chain->total = (size_t)trailer.frame_count;
    return 0;
}

static int read_index_frame(struct chain *chain, struct frame_header *ret_header)
{
    uint8_t head[FRAME_HEADER_BYTES];
    int status = file_source_read(chain->source, chain->offset, head, sizeof(head));

    if (!status)
        status = frame_header_read(head, ret_header);
    if (status)
        return status;
    if (ret_header->table != TABLE_INDEX || !ret_header->rows)
        return fail(GAIT_ERR_FORMAT, "the index chain leads to a frame that is not an index");
    chain->payload.used = 0;
    uint8_t *payload = buffer_reserve(&chain->payload, ret_header->stored_bytes + 8);
    if (!payload)
        return fail(GAIT_ERR_MEMORY, "no memory for an index frame");
    status = file_source_read(chain->source, chain->offset + sizeof(head), payload,
                              ret_header->stored_bytes);
    if (status)
        return status;
    if (!frame_payload_is_intact(ret_header, payload))
        return fail(GAIT_ERR_FORMAT, "an index frame is damaged");
    return 0;
}

static int read_columns(struct chain *chain, const struct frame_header *header)
{
    size_t rows = header->rows;
    struct table_view view;
    int status = table_view_init(&view, header, chain->payload.bytes);

    if (!status)
        status = ARRAY_RESERVE(chain->columns, chain->column_capacity, rows * COLUMN_COUNT(INDEX),
                               (size_t)COLUMN_COUNT(INDEX) * FRAME_MAX_ROWS);
    for (uint16_t column = 0; !status && column < COLUMN_COUNT(INDEX); column++)
        status = table_read(&chain->reader, &view, column, chain->columns + column * rows);
    return status;
}

static int fill_entry(struct chain *chain, size_t row, size_t rows)
{
    const uint64_t *at = chain->columns + row;
    uint64_t stored = at[COLUMN(INDEX, stored_bytes) * rows];
    uint64_t offset = at[COLUMN(INDEX, offset) * rows];

    if (stored > FRAME_MAX_PAYLOAD || stored % 8 ||
        at[COLUMN(INDEX, rows) * rows] > FRAME_MAX_ROWS ||
        at[COLUMN(INDEX, rows) * rows] > FRAME_MAX_ROWS_OF(stored) ||
        at[COLUMN(INDEX, table) * rows] > UINT16_MAX ||
        at[COLUMN(INDEX, track) * rows] > UINT32_MAX ||
        at[COLUMN(INDEX, events) * rows] > UINT32_MAX || offset > chain->end ||
        offset + FRAME_HEADER_BYTES + stored != chain->end)
        return fail(GAIT_ERR_FORMAT, "the index does not fit the file");
    chain->end = offset;
    chain->left--;
    chain->entries[chain->left] = (struct frame_entry){
        .offset = offset,
        .sequence = chain->left,
        .first = at[COLUMN(INDEX, first) * rows],
        .last = at[COLUMN(INDEX, last) * rows],
        .rows = (uint32_t)at[COLUMN(INDEX, rows) * rows],
        .stored_bytes = (uint32_t)stored,
        .track = (uint32_t)at[COLUMN(INDEX, track) * rows],
        .events = (uint32_t)at[COLUMN(INDEX, events) * rows],
        .table = (uint16_t)at[COLUMN(INDEX, table) * rows],
    };
    return 0;
}

// One link: the rows of the index frame at chain->offset, last one first. The
// first row is the index frame before it, or the first frame of the file.
static int follow(struct chain *chain)
{
    struct frame_header header;
    int status = read_index_frame(chain, &header);

    if (!status)
        status = read_columns(chain, &header);
    if (status)
        return status;
    if (header.rows > chain->left)
        return fail(GAIT_ERR_FORMAT, "the index lists more frames than the trailer counts");
    for (size_t row = header.rows; !status && row-- > 0;)
        status = fill_entry(chain, row, header.rows);
    if (status)
        return status;
    chain->offset = chain->columns[COLUMN(INDEX, table) * (size_t)header.rows] == TABLE_INDEX
                        ? chain->columns[0]
                        : NO_OFFSET;
    return 0;
}

static int start_chain(struct chain *chain)
{
    struct frame_header header;
    int status = read_trailer(chain);

    if (!status)
        status = read_index_frame(chain, &header);
    if (status)
        return status;
    if (chain->offset + FRAME_HEADER_BYTES + header.stored_bytes != chain->end ||
        header.sequence != chain->total - 1)
        return fail(GAIT_ERR_FORMAT, "the last index frame is not the last frame");
    chain->entries = calloc(chain->total, sizeof(*chain->entries));
    if (!chain->entries)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu frames", chain->total);
    chain->end = chain->offset;
    chain->left--;
    chain->entries[chain->left] = (struct frame_entry){
        .offset = chain->offset,
        .sequence = header.sequence,
        .first = header.first,
        .last = header.last,
        .rows = header.rows,
        .stored_bytes = header.stored_bytes,
        .track = header.track,
        .events = header.events,
        .table = header.table,
    };
    return 0;
}

int index_chain_load(struct frame_list *list, struct file_source *source)
{
    struct chain chain = {.source = source};
    int status = table_reader_init(&chain.reader);

    *list = (struct frame_list){0};
    buffer_init(&chain.payload, FRAME_MAX_PAYLOAD + 64);
    if (!status)
        status = start_chain(&chain);
    while (!status && chain.offset != NO_OFFSET)
        status = follow(&chain);
    if (!status && (chain.left || chain.end))
        status = fail(GAIT_ERR_FORMAT, "frames are missing from the index");
    if (status) {
        free(chain.entries);
    } else {
        *list = (struct frame_list){.entries = chain.entries,
                                    .count = chain.total,
                                    .capacity = chain.total,
                                    .next_sequence = chain.total,
                                    .end = source->bytes - FRAME_TRAILER_BYTES,
                                    .has_trailer = true};
    }
    free(chain.columns);
    buffer_finish(&chain.payload);
    table_reader_finish(&chain.reader);
    return status;
}
