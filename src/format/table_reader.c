// SPDX-License-Identifier: Apache-2.0
// The directory is checked once a frame, a blob when it is read: a frame with
// one bad column still serves the others.
#include "format/table_reader.h"

#include <inttypes.h>
#include <stdatomic.h>

#include <zstd.h>

#include "base/bytes.h"
#include "base/fail.h"
#include "format/nested_times.h"
#include "format/quad.h"

#define ENTRY_BYTES 16
#define BLOCK_ROWS 1024 // transformed while they are in the first cache
#define ZSTD_MAGIC 0xfd2fb528u

int table_reader_init(struct table_reader *reader)
{
    *reader = (struct table_reader){0};
    buffer_init(&reader->raw, FRAME_MAX_RAW);
    buffer_init(&reader->twin, FRAME_MAX_ROWS * sizeof(uint64_t));
    buffer_init(&reader->depths, FRAME_MAX_ROWS * sizeof(uint64_t));
    return 0;
}

void table_reader_finish(struct table_reader *reader)
{
    if (!reader)
        return;
    ZSTD_freeDCtx(reader->zstd);
    buffer_finish(&reader->raw);
    buffer_finish(&reader->twin);
    buffer_finish(&reader->depths);
    *reader = (struct table_reader){0};
}

// The width of a quad packing, or QUAD_WIDTH_COUNT: it is another one.
static enum quad_width width_of(uint8_t packing)
{
    switch (packing) {
    case PACKING_QUAD:
        return QUAD_8;
    case PACKING_QUAD5:
        return QUAD_5;
    case PACKING_QUAD4:
        return QUAD_4;
    default:
        return QUAD_WIDTH_COUNT;
    }
}

// Whether `raw_bytes` can hold `rows` values at all: asked before memory is
// taken for them, so that a small file cannot make a reader take much.
static bool is_plausible(const struct table_column *column, size_t rows)
{
    const size_t raw = column->raw_bytes, controls = (rows + 3) / 4;

    switch (column->packing) {
    case PACKING_QUAD:
        return raw >= controls + rows && raw <= controls + rows * 8;
    case PACKING_QUAD5:
        return raw >= controls + rows && raw <= controls + rows * 5;
    case PACKING_QUAD4:
        return raw >= controls + rows && raw <= controls + rows * 4;
    case PACKING_FIXED64:
        return raw == rows * 8;
    case PACKING_CONSTANT:
        return raw == 8;
    case PACKING_NIBBLE:
        return raw == (rows + 1) / 2;
    default:
        return raw >= 4 + controls + rows;
    }
}

// What is wrong with a column that shall be read, or NULL. Entries of columns
// that this version does not know may say what it does not understand.
static const char *check_column(const struct table_column *column, size_t rows, bool bytes)
{
    if (column->transform > TRANSFORM_NESTED_RISE || column->packing > PACKING_QUAD4 ||
        column->compression > COMPRESSION_ZSTD)
        return "its encoding is unknown";
    if ((column->packing == PACKING_BYTES) != bytes)
        return bytes ? "it holds numbers where bytes belong" : "it holds bytes, not numbers";
    if (bytes && column->transform != TRANSFORM_NONE)
        return "bytes are transformed";
    if (column->compression == COMPRESSION_NONE && column->stored_bytes != column->raw_bytes)
        return "its two lengths differ";
    if (!is_plausible(column, rows))
        return "its length does not fit the rows";
    return NULL;
}

static int read_entry(struct table_view *view, const uint8_t *entry, const uint8_t *blob,
                      size_t left)
{
    const struct table_schema *schema = schema_table(view->header.table);
    const uint16_t index = bytes_get16(entry);

    if (index >= SCHEMA_MAX_COLUMNS || view->columns[index].present)
        return fail(GAIT_ERR_FORMAT, "column %u is repeated or does not exist", index);

    const struct table_column column = {
        .stored = blob,
        .transform = entry[2],
        .packing = entry[3],
        .compression = entry[4],
        .raw_bytes = bytes_get32(entry + 8),
        .stored_bytes = bytes_get32(entry + 12),
        .present = true,
    };
    if (entry[5] || entry[6] || entry[7])
        return fail(GAIT_ERR_FORMAT, "column %u: reserved bytes are not zero", index);
    if (column.raw_bytes > FRAME_MAX_RAW || column.stored_bytes > left)
        return fail(GAIT_ERR_FORMAT, "column %u: its lengths are impossible", index);
    if (schema && index < schema->own_count) {
        const char *wrong = check_column(&column, view->header.rows,
                                         schema_holds_bytes(schema->columns[index].type));
        if (wrong)
            return fail(GAIT_ERR_FORMAT, "column '%s.%s': %s", schema->name,
                        schema->columns[index].name, wrong);
    }
    view->columns[index] = column;
    return 0;
}

static bool is_nested(const struct table_view *view, uint32_t column)
{
    return view->columns[column].present && transform_is_nested(view->columns[column].transform);
}

static bool may_nest(const struct table_view *view, uint32_t column)
{
    const uint16_t table = view->header.table;

    return (table == TABLE_SPAN || table == TABLE_STEP) &&
           (column == NESTED_STARTS || column == NESTED_DURATIONS);
}

// Starts and durations of spans are nested together or not at all, others never.
static bool nests_well(const struct table_view *view)
{
    const struct table_schema *schema = schema_table(view->header.table);

    for (uint32_t i = 0; schema && i < schema->own_count; i++)
        if (is_nested(view, i) && !may_nest(view, i))
            return false;
    return is_nested(view, NESTED_STARTS) == is_nested(view, NESTED_DURATIONS) || !schema;
}

static int read_directory(struct table_view *view, const uint8_t *payload)
{
    const size_t bytes = view->header.stored_bytes;
    const uint32_t columns = bytes_get32(payload);

    if (columns > SCHEMA_MAX_COLUMNS || bytes_get32(payload + 4) != 0 ||
        FRAME_DIRECTORY_BYTES(columns) > bytes)
        return fail(GAIT_ERR_FORMAT, "a directory of %u columns is impossible", columns);

    size_t used = FRAME_DIRECTORY_BYTES(columns);
    uint64_t raw = 0;
    for (uint32_t i = 0; i < columns; i++) {
        const uint8_t *entry = payload + 8 + ENTRY_BYTES * i;
        int status = read_entry(view, entry, payload + used, bytes - used);
        if (status)
            return status;
        used += bytes_get32(entry + 12);
        raw += bytes_get32(entry + 8);
    }
    if (raw > FRAME_MAX_RAW_OF(bytes))
        return fail(GAIT_ERR_FORMAT, "%zu bytes cannot stand for columns of %" PRIu64, bytes, raw);
    if (!nests_well(view))
        return fail(GAIT_ERR_FORMAT,
                    "a nested column has no partner, or its table has no nested columns");
    if (bytes - used >= 8)
        return fail(GAIT_ERR_FORMAT, "%zu bytes follow the last column", bytes - used);
    for (; used < bytes; used++)
        if (payload[used])
            return fail(GAIT_ERR_FORMAT, "the bytes after the last column are not zero");
    return 0;
}

int table_view_init(struct table_view *view, const struct frame_header *header,
                    const uint8_t *payload)
{
    static atomic_uint_least64_t views;

    *view = (struct table_view){.header = *header, .serial = ++views};
    if (header->rows > FRAME_MAX_ROWS || header->stored_bytes > FRAME_MAX_PAYLOAD ||
        header->stored_bytes < 8)
        return fail(GAIT_ERR_FORMAT, "%u rows do not fit %u bytes", header->rows,
                    header->stored_bytes);

    int status = read_directory(view, payload);
    if (status)
        memset(view->columns, 0, sizeof(view->columns));
    return status;
}

// What the zstd frames of a blob hold by their own word, or SIZE_MAX when they
// are no such thing. Asked before decompression, so that formats of old zstd
// versions, which some builds still read, are not tried.
static size_t promised_bytes(const uint8_t *in, size_t bytes)
{
    size_t promised = 0;

    while (bytes) {
        if (bytes < 4 || bytes_get32(in) != ZSTD_MAGIC)
            return SIZE_MAX;
        const size_t length = ZSTD_findFrameCompressedSize(in, bytes);
        const unsigned long long content = ZSTD_getFrameContentSize(in, bytes);
        if (ZSTD_isError(length) || length > bytes || content > FRAME_MAX_RAW - promised)
            return SIZE_MAX;
        promised += (size_t)content;
        in += length;
        bytes -= length;
    }
    return promised;
}

static int inflate(struct table_reader *reader, const struct table_column *column, uint8_t *out)
{
    const uint8_t *in = column->stored;
    const size_t bytes = column->stored_bytes, raw = column->raw_bytes;

    if (promised_bytes(in, bytes) != raw)
        return fail(GAIT_ERR_FORMAT,
                    "compressed bytes do not hold the %zu bytes that the header names", raw);
    // made at the first need: clearing its 160 KB is half of opening a small file
    if (!reader->zstd)
        reader->zstd = ZSTD_createDCtx();
    if (!reader->zstd)
        return fail(GAIT_ERR_MEMORY, "no memory for a decompressor");
    const size_t got = ZSTD_decompressDCtx(reader->zstd, out, raw, in, bytes);
    if (ZSTD_isError(got))
        return fail(GAIT_ERR_FORMAT, "compressed bytes are broken: %s", ZSTD_getErrorName(got));
    if (got != raw)
        return fail(GAIT_ERR_FORMAT, "compressed bytes hold %zu bytes, not %zu", got, raw);
    return 0;
}

// The blob as it was before compression; good until the next call.
static int open_blob(struct table_reader *reader, const struct table_column *column,
                     const uint8_t **ret_blob)
{
    if (column->compression == COMPRESSION_NONE) {
        *ret_blob = column->stored;
        return 0;
    }
    reader->raw.used = 0;
    uint8_t *room = buffer_reserve(&reader->raw, column->raw_bytes);
    if (!room)
        return fail(GAIT_ERR_MEMORY, "no memory for a column of %u bytes", column->raw_bytes);
    int status = inflate(reader, column, room);
    if (!status)
        *ret_blob = room;
    return status;
}

static uint64_t unzigzag(uint64_t stored)
{
    return stored >> 1 ^ -(stored & 1);
}

// A column as it is decoded.
struct numbers {
    const struct table_column *column;
    size_t rows;
    uint64_t first; // of the frame
};

// Undoes the transform in place, as far as it is a matter of this column alone;
// returns the last value, the start of the next block.
static uint64_t undo_transform(uint8_t transform, uint64_t *values, size_t rows, uint64_t before)
{
    if (transform == TRANSFORM_ZIGZAG || transform == TRANSFORM_NESTED)
        for (size_t row = 0; row < rows; row++)
            values[row] = unzigzag(values[row]);
    if (transform == TRANSFORM_DELTA)
        for (size_t row = 0; row < rows; row++)
            values[row] = before += unzigzag(values[row]);
    if (transform == TRANSFORM_RISE || transform == TRANSFORM_CLIMB)
        for (size_t row = 0; row < rows; row++)
            values[row] = before += values[row];
    return before;
}

static uint64_t base_of(const struct numbers *numbers)
{
    return numbers->column->transform == TRANSFORM_CLIMB ? numbers->first : 0;
}

static int read_quad(const struct numbers *numbers, const uint8_t *blob, uint64_t *ret_values)
{
    const struct table_column *column = numbers->column;
    const size_t rows = numbers->rows;
    struct quad_source source;
    uint64_t before = base_of(numbers);
    int status = quad_source_init(&source, width_of(column->packing),
                                  (struct slice){blob, column->raw_bytes}, rows);

    if (status)
        return status;
    for (size_t row = 0; row < rows; row += BLOCK_ROWS) {
        const size_t count = rows - row < BLOCK_ROWS ? rows - row : BLOCK_ROWS;
        if (!quad_take(&source, ret_values + row, count))
            return fail(GAIT_ERR_FORMAT, "a column ends before its last row");
        before = undo_transform(column->transform, ret_values + row, count, before);
    }
    if (source.rest != source.end)
        return fail(GAIT_ERR_FORMAT, "bytes follow the last row of a column");
    return 0;
}

static int read_fixed(struct table_reader *reader, const struct table_column *column, size_t rows,
                      uint64_t *ret_values)
{
    if (column->compression == COMPRESSION_ZSTD)
        return inflate(reader, column, (uint8_t *)ret_values);
    if (rows)
        memcpy(ret_values, column->stored, rows * sizeof(*ret_values));
    return 0;
}

static int read_nibbles(const uint8_t *blob, size_t rows, uint64_t *ret_values)
{
    for (size_t row = 0; row + 2 <= rows; row += 2) {
        ret_values[row] = blob[row / 2] & 0xf;
        ret_values[row + 1] = blob[row / 2] >> 4;
    }
    if (rows % 2 == 0)
        return 0;
    if (blob[rows / 2] >> 4)
        return fail(GAIT_ERR_FORMAT, "bits follow the last row");
    ret_values[rows - 1] = blob[rows / 2];
    return 0;
}

static int read_numbers(struct table_reader *reader, const struct numbers *numbers,
                        uint64_t *ret_values)
{
    const struct table_column *column = numbers->column;
    const size_t rows = numbers->rows;
    const uint8_t *blob = NULL;
    int status = 0;

    if (column->packing != PACKING_FIXED64)
        status = open_blob(reader, column, &blob);
    if (status)
        return status;
    if (width_of(column->packing) != QUAD_WIDTH_COUNT)
        return read_quad(numbers, blob, ret_values);
    if (column->packing == PACKING_FIXED64)
        status = read_fixed(reader, column, rows, ret_values);
    else if (column->packing == PACKING_NIBBLE)
        status = read_nibbles(blob, rows, ret_values);
    else
        for (size_t row = 0; row < rows; row++)
            ret_values[row] = bytes_get64(blob);
    undo_transform(column->transform, ret_values, rows, base_of(numbers));
    return status;
}

// One column by itself: of nested ones the gaps or tails.
static int read_column(struct table_reader *reader, const struct table_view *view, uint16_t column,
                       uint64_t *ret_values)
{
    const struct numbers numbers = {&view->columns[column], view->header.rows, view->header.first};

    if (!numbers.column->present) {
        if (numbers.rows) // an array of no rows may be NULL
            memset(ret_values, 0, numbers.rows * sizeof(*ret_values));
        return 0;
    }
    const char *wrong = check_column(numbers.column, numbers.rows, false);
    if (wrong)
        return fail(GAIT_ERR_FORMAT, "column %u: %s", column, wrong);
    int status = read_numbers(reader, &numbers, ret_values);
    return status ? fail_because(status, "column %u", column) : 0;
}

static uint64_t *reserve_rows(struct buffer *buffer, size_t rows)
{
    buffer->used = 0;
    return (uint64_t *)(void *)buffer_reserve(buffer, rows * sizeof(uint64_t));
}

// Depths where there are any, else NULL.
static int read_depths(struct table_reader *reader, const struct table_view *view,
                       const uint64_t **ret_depths)
{
    *ret_depths = NULL;
    if (view->header.table != TABLE_SPAN || !view->columns[NESTED_DEPTHS].present)
        return 0;
    uint64_t *depths = reserve_rows(&reader->depths, view->header.rows);
    if (!depths)
        return fail(GAIT_ERR_MEMORY, "no memory for %u depths", view->header.rows);
    *ret_depths = depths;
    return read_column(reader, view, NESTED_DEPTHS, depths);
}

static int read_nested(struct table_reader *reader, const struct table_view *view, uint16_t column,
                       uint64_t *ret_values)
{
    const size_t rows = view->header.rows;
    const uint64_t *depths;

    if (reader->twin_serial == view->serial && reader->twin_column == column) {
        memcpy(ret_values, reader->twin.bytes, rows * sizeof(*ret_values));
        return 0;
    }
    reader->twin_serial = 0;
    uint64_t *twin = reserve_rows(&reader->twin, rows);
    if (!twin)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu rows", rows);
    uint64_t *starts = column == NESTED_STARTS ? ret_values : twin;
    uint64_t *durations = column == NESTED_STARTS ? twin : ret_values;
    int status = read_column(reader, view, NESTED_STARTS, starts);
    if (!status)
        status = read_column(reader, view, NESTED_DURATIONS, durations);
    if (!status)
        status = read_depths(reader, view, &depths);
    if (status)
        return status;
    nested_times_decode(depths, rows, view->header.first, starts, durations);
    reader->twin_serial = view->serial;
    reader->twin_column = column == NESTED_STARTS ? NESTED_DURATIONS : NESTED_STARTS;
    return 0;
}

int table_read(struct table_reader *reader, const struct table_view *view, uint16_t column,
               uint64_t *ret_values)
{
    if (column >= SCHEMA_MAX_COLUMNS)
        return fail(GAIT_ERR_ARGUMENT, "column %u does not exist", column);
    if (is_nested(view, column) && !may_nest(view, column))
        return fail(GAIT_ERR_FORMAT, "column %u is nested, but its table has no nested columns",
                    column);
    if (view->header.rows && is_nested(view, column))
        return read_nested(reader, view, column, ret_values);
    return read_column(reader, view, column, ret_values);
}

// Cuts `bytes` into rows by their packed lengths, to the last byte.
static int cut_rows(struct quad_source *lengths, struct slice bytes, size_t rows,
                    struct slice *ret_values)
{
    uint64_t block[BLOCK_ROWS];

    for (size_t row = 0; row < rows; row += BLOCK_ROWS) {
        const size_t count = rows - row < BLOCK_ROWS ? rows - row : BLOCK_ROWS;
        if (!quad_take(lengths, block, count))
            return fail(GAIT_ERR_FORMAT, "lengths end before the last row");
        for (size_t i = 0; i < count; i++) {
            if (block[i] > bytes.count)
                return fail(GAIT_ERR_FORMAT, "row %zu ends past the column", row + i);
            ret_values[row + i] = (struct slice){bytes.bytes, (size_t)block[i]};
            bytes.bytes += block[i];
            bytes.count -= (size_t)block[i];
        }
    }
    if (bytes.count || lengths->rest != lengths->end)
        return fail(GAIT_ERR_FORMAT, "bytes follow the last row");
    return 0;
}

static int read_bytes(struct table_reader *reader, const struct table_column *column, size_t rows,
                      struct buffer *text, struct slice *ret_values)
{
    struct quad_source lengths;

    text->used = 0;
    uint8_t *blob = buffer_reserve(text, column->raw_bytes);
    if (!blob)
        return fail(GAIT_ERR_MEMORY, "no memory for %u bytes of text", column->raw_bytes);
    int status = 0;
    if (column->compression == COMPRESSION_ZSTD)
        status = inflate(reader, column, blob);
    else
        memcpy(blob, column->stored, column->raw_bytes);
    if (status)
        return status;
    text->used = column->raw_bytes;

    const size_t packed = bytes_get32(blob);
    if (packed > column->raw_bytes - 4)
        return fail(GAIT_ERR_FORMAT, "the lengths of the rows end past the column");
    status = quad_source_init(&lengths, QUAD_8, (struct slice){blob + 4, packed}, rows);
    if (status)
        return status;
    const struct slice bytes = {blob + 4 + packed, column->raw_bytes - 4 - packed};
    return cut_rows(&lengths, bytes, rows, ret_values);
}

int table_read_bytes(struct table_reader *reader, const struct table_view *view, uint16_t column,
                     struct buffer *text, struct slice *ret_values)
{
    const size_t rows = view->header.rows;

    if (column >= SCHEMA_MAX_COLUMNS)
        return fail(GAIT_ERR_ARGUMENT, "column %u does not exist", column);
    text->used = 0;
    if (!view->columns[column].present) {
        if (rows) // an array of no rows may be NULL
            memset(ret_values, 0, rows * sizeof(*ret_values));
        return 0;
    }
    const char *wrong = check_column(&view->columns[column], rows, true);
    if (wrong)
        return fail(GAIT_ERR_FORMAT, "column %u: %s", column, wrong);
    int status = read_bytes(reader, &view->columns[column], rows, text, ret_values);
    return status ? fail_because(status, "column %u", column) : 0;
}
