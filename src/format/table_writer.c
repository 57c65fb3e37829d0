// SPDX-License-Identifier: Apache-2.0
// Columns to blobs: choose the packing, transform, pack, compress. Which rows
// make a frame, and when, is the recorder's business.
#include "format/table_writer.h"

#include <zstd.h>

#include "base/bytes.h"
#include "base/fail.h"
#include "format/quad.h"

// zstd level, and how a column that does not shrink is left alone: figures in
// docs/decisions/0001-columns.md.
#define LEVEL 1
#define REST_FRAMES 16
#define SMALLEST_COMPRESSED 64

#define BLOCK_ROWS 1024 // a block of 64-bit values is a quarter of a first cache

static size_t most_columns(void)
{
    size_t most = 0;

    for (uint32_t table = 0; table < TABLE_COUNT; table++)
        if (schema_table(table)->column_count > most)
            most = schema_table(table)->column_count;
    return most;
}

static int take_memory(struct table_writer *writer, size_t max_rows, size_t max_bytes)
{
    const size_t column = ZSTD_compressBound(quad_bound(max_rows));
    size_t payload = most_columns() * column + ZSTD_compressBound(max_bytes);

    if (payload > FRAME_MAX_PAYLOAD)
        payload = FRAME_MAX_PAYLOAD;
    if (!buffer_reserve(&writer->payload, payload) ||
        !buffer_reserve(&writer->scratch, quad_bound(max_rows) + 4 + max_bytes))
        return fail(GAIT_ERR_MEMORY, "no memory to build frames of %zu rows", max_rows);
    writer->zstd = ZSTD_createCCtx();
    if (!writer->zstd)
        return fail(GAIT_ERR_MEMORY, "no memory for a compressor");
    return 0;
}

int table_writer_init(struct table_writer *writer, struct buffer *out, size_t max_rows,
                      size_t max_bytes)
{
    if (max_rows > FRAME_MAX_ROWS || max_bytes > FRAME_MAX_RAW)
        return fail(GAIT_ERR_ARGUMENT, "a frame of %zu rows and %zu bytes is too large", max_rows,
                    max_bytes);
    *writer = (struct table_writer){.out = out, .level = LEVEL};
    buffer_init(&writer->payload, ZSTD_compressBound(FRAME_MAX_RAW));
    buffer_init(&writer->scratch, FRAME_MAX_RAW);

    int status = take_memory(writer, max_rows, max_bytes);
    if (status)
        table_writer_finish(writer);
    return status;
}

void table_writer_finish(struct table_writer *writer)
{
    if (!writer)
        return;
    ZSTD_freeCCtx(writer->zstd);
    buffer_finish(&writer->payload);
    buffer_finish(&writer->scratch);
    *writer = (struct table_writer){0};
}

void table_begin(struct table_writer *writer, enum table_id table, uint32_t track, uint32_t rows)
{
    writer->table = (uint16_t)table;
    writer->track = track;
    writer->rows = rows;
    writer->columns = 0;
    writer->put = 0;
    writer->status = 0;
    writer->payload.used = 0;
    if (rows > FRAME_MAX_ROWS)
        writer->status = fail(GAIT_ERR_ARGUMENT, "a frame of %u rows is too large", rows);
}

// True when the column may be put now; else the frame has failed.
static bool accepts(struct table_writer *writer, uint16_t column, bool bytes)
{
    const struct table_schema *schema = schema_table(writer->table);

    if (writer->status)
        return false;
    if (column >= SCHEMA_MAX_COLUMNS || writer->put >> column & 1)
        writer->status = fail(GAIT_ERR_ARGUMENT, "column %u of table %u was put twice or is none",
                              column, writer->table);
    else if (schema && column < schema->column_count &&
             schema_holds_bytes(schema->columns[column].type) != bytes)
        writer->status = fail(GAIT_ERR_ARGUMENT, "column '%s.%s' takes the other kind of values",
                              schema->name, schema->columns[column].name);
    else
        writer->put |= 1u << column;
    return !writer->status;
}

// Length of the compressed blob in `room`, or 0: store it as it is.
static size_t compress(struct table_writer *writer, uint16_t column, uint8_t *room, size_t bound)
{
    const size_t raw = writer->scratch.used;
    const bool remembers = writer->table < TABLE_COUNT && raw >= 4096;
    uint8_t *rest = remembers ? &writer->rests[writer->table][column] : NULL;

    if (!writer->level || raw < SMALLEST_COMPRESSED)
        return 0;
    if (rest && *rest) {
        --*rest;
        return 0;
    }
    const size_t length =
        ZSTD_compressCCtx(writer->zstd, room, bound, writer->scratch.bytes, raw, writer->level);
    if (ZSTD_isError(length) || length >= raw - raw / 20) {
        if (rest)
            *rest = REST_FRAMES;
        return 0;
    }
    return length;
}

// Moves the column in scratch to the payload.
static void add_blob(struct table_writer *writer, uint16_t column, enum column_transform transform,
                     enum column_packing packing)
{
    const size_t raw = writer->scratch.used;
    const size_t bound = ZSTD_compressBound(raw);
    uint8_t *room = buffer_reserve(&writer->payload, bound);

    if (!room) {
        writer->status = fail(GAIT_ERR_MEMORY, "no room for a column of %zu bytes", raw);
        return;
    }
    size_t stored = compress(writer, column, room, bound);
    const bool is_compressed = stored != 0;
    if (!is_compressed) {
        memcpy(room, writer->scratch.bytes, raw);
        stored = raw;
    }
    writer->payload.used += stored;

    uint8_t *entry = writer->directory + FRAME_DIRECTORY_BYTES(writer->columns++);
    memset(entry, 0, 16);
    bytes_put16(entry, column);
    entry[2] = (uint8_t)transform;
    entry[3] = (uint8_t)packing;
    entry[4] = is_compressed ? COMPRESSION_ZSTD : COMPRESSION_NONE;
    bytes_put32(entry + 8, (uint32_t)raw);
    bytes_put32(entry + 12, (uint32_t)stored);
}

// Empties scratch and makes room in it, or fails the frame.
static uint8_t *clear_scratch(struct table_writer *writer, size_t bytes)
{
    writer->scratch.used = 0;
    uint8_t *room = buffer_reserve(&writer->scratch, bytes);

    if (!room)
        writer->status = fail(GAIT_ERR_MEMORY, "no room for a column of %zu bytes", bytes);
    return room;
}

static void add_constant(struct table_writer *writer, uint16_t column,
                         enum column_transform transform, uint64_t stored)
{
    uint8_t *room = clear_scratch(writer, sizeof(stored));

    if (!room)
        return;
    bytes_put64(room, stored);
    writer->scratch.used = sizeof(stored);
    add_blob(writer, column, transform, PACKING_CONSTANT);
}

static uint64_t zigzag(uint64_t value)
{
    return value << 1 ^ -(value >> 63);
}

// Stored form of `rows` values that begin at values[from].
static void transform_block(enum column_transform transform, const uint64_t *values, size_t from,
                            size_t rows, uint64_t *ret_block)
{
    const uint64_t *block = values + from;

    if (transform == TRANSFORM_ZIGZAG) {
        for (size_t row = 0; row < rows; row++)
            ret_block[row] = zigzag(block[row]);
        return;
    }
    ret_block[0] = zigzag(block[0] - (from ? block[-1] : 0));
    for (size_t row = 1; row < rows; row++)
        ret_block[row] = zigzag(block[row] - block[row - 1]);
}

static void pack_quad(struct table_writer *writer, enum column_transform transform,
                      const uint64_t *values, uint8_t *room)
{
    uint64_t block[BLOCK_ROWS];
    struct quad_sink sink;

    quad_sink_init(&sink, writer->rows, room);
    if (transform == TRANSFORM_NONE)
        quad_put(&sink, values, writer->rows);
    for (size_t row = 0; transform != TRANSFORM_NONE && row < writer->rows; row += BLOCK_ROWS) {
        const size_t left = writer->rows - row;
        const size_t rows = left < BLOCK_ROWS ? left : BLOCK_ROWS;
        transform_block(transform, values, row, rows, block);
        quad_put(&sink, block, rows);
    }
    writer->scratch.used = (size_t)(sink.data - room);
}

static bool is_constant(const uint64_t *values, size_t rows)
{
    uint64_t differences = 0;

    if (values[rows - 1] != values[0] || values[rows / 2] != values[0])
        return false;
    for (size_t row = 0; row < rows; row++)
        differences |= values[row] ^ values[0];
    return differences == 0;
}

// Whether each value is the one before plus the first one: ids handed out in
// a row. Their differences, seen from 0, are a constant.
static bool is_progression(const uint64_t *values, size_t rows)
{
    uint64_t differences = 0;

    if (values[rows - 1] - values[0] != values[0] * (rows - 1))
        return false;
    for (size_t row = 1; row < rows; row++)
        differences |= (values[row] - values[row - 1]) ^ values[0];
    return differences == 0;
}

void table_put(struct table_writer *writer, uint16_t column, enum column_transform transform,
               const uint64_t *values)
{
    const size_t rows = writer->rows;

    if (!accepts(writer, column, false) || !rows)
        return;
    if (is_constant(values, rows)) {
        if (values[0])
            add_constant(writer, column, TRANSFORM_NONE, values[0]);
        return;
    }
    if (transform == TRANSFORM_DELTA && is_progression(values, rows)) {
        add_constant(writer, column, TRANSFORM_DELTA, zigzag(values[0]));
        return;
    }
    uint8_t *room = clear_scratch(writer, quad_bound(rows));
    if (!room)
        return;
    pack_quad(writer, transform, values, room);
    if (writer->scratch.used < rows * sizeof(*values)) {
        add_blob(writer, column, transform, PACKING_QUAD);
        return;
    }
    memcpy(room, values, rows * sizeof(*values));
    writer->scratch.used = rows * sizeof(*values);
    add_blob(writer, column, TRANSFORM_NONE, PACKING_FIXED64);
}

void table_put_constant(struct table_writer *writer, uint16_t column, uint64_t value)
{
    if (accepts(writer, column, false) && value && writer->rows)
        add_constant(writer, column, TRANSFORM_NONE, value);
}

void table_put_real(struct table_writer *writer, uint16_t column, const double *values)
{
    const size_t bytes = writer->rows * sizeof(*values);

    if (!accepts(writer, column, false) || !bytes)
        return;
    uint8_t *room = clear_scratch(writer, bytes);
    if (!room)
        return;
    memcpy(room, values, bytes);
    writer->scratch.used = bytes;
    // By bits: -0.0 is not the zero that is left out, and NaNs stay as they are.
    if (memcmp(room, room + 8, bytes - 8) != 0)
        add_blob(writer, column, TRANSFORM_NONE, PACKING_FIXED64);
    else if (bytes_get64(room))
        add_constant(writer, column, TRANSFORM_NONE, bytes_get64(room));
}

// Bytes of all rows together; FRAME_MAX_RAW + 1 when they are too many.
static size_t total_bytes(const struct slice *values, size_t rows)
{
    size_t total = 0;

    for (size_t row = 0; row < rows; row++) {
        if (values[row].count > FRAME_MAX_RAW - total)
            return FRAME_MAX_RAW + 1;
        total += values[row].count;
    }
    return total;
}

static uint8_t *pack_lengths(const struct slice *values, size_t rows, uint8_t *room)
{
    uint64_t block[BLOCK_ROWS];
    struct quad_sink sink;

    quad_sink_init(&sink, rows, room);
    for (size_t row = 0; row < rows; row += BLOCK_ROWS) {
        const size_t count = rows - row < BLOCK_ROWS ? rows - row : BLOCK_ROWS;
        for (size_t i = 0; i < count; i++)
            block[i] = values[row + i].count;
        quad_put(&sink, block, count);
    }
    return sink.data;
}

void table_put_bytes(struct table_writer *writer, uint16_t column, const struct slice *values)
{
    if (!accepts(writer, column, true))
        return;
    const size_t total = total_bytes(values, writer->rows);
    if (!total)
        return;
    uint8_t *room = clear_scratch(writer, 4 + quad_bound(writer->rows) + total);
    if (!room)
        return;
    uint8_t *end = pack_lengths(values, writer->rows, room + 4);
    bytes_put32(room, (uint32_t)(end - room - 4));
    for (size_t row = 0; row < writer->rows; row++) {
        if (values[row].count)
            memcpy(end, values[row].bytes, values[row].count);
        end += values[row].count;
    }
    writer->scratch.used = (size_t)(end - room);
    add_blob(writer, column, TRANSFORM_NONE, PACKING_BYTES);
}

int table_end(struct table_writer *writer, const struct table_about *about,
              struct frame_header *ret_header)
{
    const size_t directory = FRAME_DIRECTORY_BYTES(writer->columns);
    const size_t used = directory + writer->payload.used;
    const size_t stored = (used + 7) & ~(size_t)7;

    if (writer->status)
        return writer->status;
    if (stored > FRAME_MAX_PAYLOAD)
        return fail(GAIT_ERR_MEMORY, "a frame of %zu bytes is too large", stored);
    if (about->first > about->last || about->events > writer->rows)
        return fail(GAIT_ERR_ARGUMENT, "a frame of %u rows cannot be about %u events, %llu to %llu",
                    writer->rows, about->events, (unsigned long long)about->first,
                    (unsigned long long)about->last);
    uint8_t *frame = buffer_reserve(writer->out, FRAME_HEADER_BYTES + stored);
    if (!frame)
        return fail(GAIT_ERR_MEMORY, "no room for a frame of %zu bytes", stored);

    uint8_t *payload = frame + FRAME_HEADER_BYTES;
    bytes_put32(writer->directory, writer->columns);
    bytes_put32(writer->directory + 4, 0);
    memcpy(payload, writer->directory, directory);
    if (writer->payload.used)
        memcpy(payload + directory, writer->payload.bytes, writer->payload.used);
    memset(payload + used, 0, stored - used);

    const struct frame_header header = {
        .version = FRAME_VERSION,
        .table = writer->table,
        .rows = writer->rows,
        .stored_bytes = (uint32_t)stored,
        .track = writer->track,
        .events = about->events,
        .sequence = writer->sequence++,
        .first = about->first,
        .last = about->last,
        .payload_hash = frame_hash(payload, stored),
    };
    frame_header_write(&header, frame);
    writer->out->used += FRAME_HEADER_BYTES + stored;
    if (ret_header)
        *ret_header = header;
    return 0;
}

#define SCHEMA_ROWS (TABLE_COUNT * 8) // no table has more than 8 columns

int table_write_schema(struct table_writer *writer)
{
    struct slice names[SCHEMA_ROWS], columns[SCHEMA_ROWS], types[SCHEMA_ROWS];
    uint64_t tables[SCHEMA_ROWS], indexes[SCHEMA_ROWS];
    uint32_t rows = 0;

    for (uint32_t table = 0; table < TABLE_COUNT; table++) {
        const struct table_schema *schema = schema_table(table);
        for (uint32_t i = 0; i < schema->column_count && rows < SCHEMA_ROWS; i++, rows++) {
            tables[rows] = table;
            names[rows] = slice_of(schema->name);
            indexes[rows] = i;
            columns[rows] = slice_of(schema->columns[i].name);
            types[rows] = slice_of(schema_type_name(schema->columns[i].type));
        }
    }
    table_begin(writer, TABLE_SCHEMA, 0, rows);
    table_put(writer, 0, TRANSFORM_NONE, tables);
    table_put_bytes(writer, 1, names);
    table_put(writer, 2, TRANSFORM_NONE, indexes);
    table_put_bytes(writer, 3, columns);
    table_put_bytes(writer, 4, types);
    return table_end(writer, &(struct table_about){0}, NULL);
}
