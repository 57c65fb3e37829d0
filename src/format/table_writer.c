// SPDX-License-Identifier: Apache-2.0
// Columns to blobs: choose the packing, transform, pack, compress. Which rows
// make a frame, and when, is the recorder's business.
#include "format/table_writer.h"

// Compression without a heap of its own, and Huffman coding at negative levels.
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include <stdlib.h>

#include "base/bytes.h"
#include "base/fail.h"
#include "base/invariant.h"
#include "format/column_pack.h"
#include "format/columns.h"
#include "format/nested_times.h"

// All four: docs/decisions/0001-columns.md.
#define MOST_UNASKED (FRAME_UNASKED_RAW / 2) // of a column, however small it gets; two are texts
#define LEVEL 1
#define LEVEL_FAST (-100)      // times, depths
#define SMALLEST_COMPRESSED 64 // bytes: below, zstd's own header eats the gain
#define SMALLEST_CUT 2048      // bytes: below, sections are not compressed apart
#define REST_FRAMES 16

static size_t most_columns(void)
{
    size_t most = 0;

    for (uint32_t table = 0; table < TABLE_COUNT; table++)
        if (schema_table(table)->column_count > most)
            most = schema_table(table)->column_count;
    return most;
}

// What compression of a blob may take, cut into sections or not.
static size_t compress_bound(size_t bytes)
{
    return bytes + bytes / 256 + COLUMN_MAX_SECTIONS * 128;
}

// A context in memory of its own never asks for more: what compression needs is
// taken here, once, whatever the columns hold.
static int make_compressor(struct table_writer *writer)
{
    const size_t bytes = ZSTD_estimateCCtxSize(writer->level);

    free(writer->workspace);
    writer->zstd = NULL;
    writer->workspace = malloc(bytes);
    if (writer->workspace)
        writer->zstd = ZSTD_initStaticCCtx(writer->workspace, bytes);
    if (!writer->zstd)
        return fail(GAIT_ERR_MEMORY, "no memory for a compressor");
    // A static context begins without the defaults, among them that a frame
    // states its content size.
    (void)ZSTD_CCtx_reset(writer->zstd, ZSTD_reset_session_and_parameters);
    // 1: always; without, negative levels leave bytes uncoded that do not
    // repeat. A zstd that does not know this only makes larger files.
    (void)ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_literalCompressionMode, 1);
    return 0;
}

// Gaps, tails and the place for scratch behind them.
static size_t nest_bytes(size_t rows)
{
    return (2 * rows + 1) * sizeof(uint64_t);
}

static int take_memory(struct table_writer *writer, size_t max_rows, size_t max_bytes)
{
    size_t payload =
        most_columns() * compress_bound(column_bound(max_rows)) + compress_bound(max_bytes);

    if (payload > FRAME_MAX_PAYLOAD)
        payload = FRAME_MAX_PAYLOAD;
    if (!buffer_reserve(&writer->payload, payload) ||
        !buffer_reserve(&writer->scratch, column_bound_bytes(max_rows, max_bytes)) ||
        !buffer_reserve(&writer->nest, nest_bytes(max_rows)))
        return fail(GAIT_ERR_MEMORY, "no memory to build frames of %zu rows", max_rows);
    return make_compressor(writer);
}

int table_writer_init(struct table_writer *writer, struct buffer *out, size_t max_rows,
                      size_t max_bytes)
{
    *writer = (struct table_writer){.out = out, .level = LEVEL};
    buffer_init(&writer->payload, compress_bound(FRAME_MAX_RAW));
    buffer_init(&writer->scratch, FRAME_MAX_RAW);
    buffer_init(&writer->nest, nest_bytes(FRAME_MAX_ROWS));
    if (max_rows > FRAME_MAX_ROWS || max_bytes > FRAME_MAX_RAW / 2)
        return fail(GAIT_ERR_ARGUMENT, "a frame of %zu rows and %zu bytes is too large", max_rows,
                    max_bytes);

    int status = take_memory(writer, max_rows, max_bytes);
    if (status)
        table_writer_finish(writer);
    return status;
}

int table_writer_set_level(struct table_writer *writer, int level)
{
    writer->level = level;
    return make_compressor(writer);
}

void table_writer_finish(struct table_writer *writer)
{
    if (!writer)
        return;
    free(writer->workspace);
    buffer_finish(&writer->payload);
    buffer_finish(&writer->scratch);
    buffer_finish(&writer->nest);
    *writer = (struct table_writer){0};
}

void table_begin(struct table_writer *writer, enum table_id table, uint32_t track, uint32_t rows)
{
    writer->table = (uint16_t)table;
    writer->track = track;
    writer->rows = rows;
    writer->columns = 0;
    writer->put = 0;
    writer->has_first = false;
    writer->first = 0;
    writer->status = 0;
    writer->payload.used = 0;
    if (rows > FRAME_MAX_ROWS)
        writer->status = fail(GAIT_ERR_ARGUMENT, "a frame of %u rows is too large", rows);
}

void table_count_from(struct table_writer *writer, uint64_t first)
{
    writer->has_first = true;
    writer->first = first;
}

// True when the column may be put now; else the frame has failed.
static bool accepts(struct table_writer *writer, uint16_t column, bool bytes)
{
    const struct table_schema *schema = schema_table(writer->table);

    if (writer->status)
        return false;
    if (column >= SCHEMA_MAX_COLUMNS || writer->put >> column & 1)
        writer->status =
            fail(GAIT_ERR_ARGUMENT, "column %u of table %u was written twice or does not exist",
                 column, writer->table);
    else if (schema && column < schema->column_count &&
             schema_holds_bytes(schema->columns[column].type) != bytes)
        writer->status = fail(GAIT_ERR_ARGUMENT, "column '%s.%s' got the wrong kind of values",
                              schema->name, schema->columns[column].name);
    else
        writer->put |= 1u << column;
    return !writer->status;
}

static bool holds(const struct table_writer *writer, uint16_t column, enum column_type type)
{
    const struct table_schema *schema = schema_table(writer->table);

    return schema && column < schema->column_count && schema->columns[column].type == type;
}

// Times are noise, and a long column of depths repeats as a whole or hardly: the
// sixth of the drainer's time that level 1 took for it won 0.3 %.
static int level_of(const struct table_writer *writer, uint16_t column, size_t bytes)
{
    const bool is_time = holds(writer, column, COLUMN_TIME) || holds(writer, column, COLUMN_TICKS);
    const bool is_depth = writer->table == TABLE_SPAN && column == NESTED_DEPTHS;

    if (writer->level > 0 && (is_time || (is_depth && bytes >= SMALLEST_CUT)))
        return LEVEL_FAST;
    return writer->level;
}

// Short matches in noise cost more than their bytes do.
static void choose_level(struct table_writer *writer, int level)
{
    const int shortest = level == LEVEL_FAST ? 7 : 0; // 0: as the level has it

    (void)ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_compressionLevel, level);
    (void)ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_minMatch, shortest);
}

// Length of the compressed sections in `room`, or 0: compression failed.
static size_t compress_sections(struct table_writer *writer, const struct column_blob *blob,
                                uint8_t *room, size_t room_bytes)
{
    const uint8_t *raw = writer->scratch.bytes;
    size_t from = 0, used = 0;

    for (uint32_t i = 0; i < blob->sections; i++) {
        const bool is_last = i + 1 == blob->sections;
        GAIT_ASSERT(from <= blob->section_ends[i] && blob->section_ends[i] <= blob->bytes);
        const size_t length = blob->section_ends[i] - from;
        if (!length || (blob->bytes < SMALLEST_CUT && !is_last))
            continue;
        const size_t got =
            ZSTD_compress2(writer->zstd, room + used, room_bytes - used, raw + from, length);
        if (ZSTD_isError(got))
            return 0;
        from += length;
        used += got;
        GAIT_ASSERT(used <= room_bytes);
    }
    return used;
}

// Length of the compressed blob in `room`, or 0: store it as it is. A column
// that did not shrink is left alone for some frames.
static size_t compress(struct table_writer *writer, uint16_t column, const struct column_blob *blob,
                       uint8_t *room, size_t room_bytes)
{
    const bool is_remembered = writer->table < TABLE_COUNT && blob->bytes >= SMALLEST_CUT;
    uint8_t *rest = is_remembered ? &writer->rests[writer->table][column] : NULL;

    if (!writer->level || blob->bytes < SMALLEST_COMPRESSED)
        return 0;
    if (rest && *rest) {
        --*rest;
        return 0;
    }
    choose_level(writer, level_of(writer, column, blob->bytes));
    const size_t used = compress_sections(writer, blob, room, room_bytes);
    // what stands for more than FRAME_MAX_RAW_OF() no reader would believe
    if (blob->bytes > MOST_UNASKED && used < blob->bytes / FRAME_LARGEST_RATIO)
        return 0;
    if (used && used < blob->bytes - blob->bytes / 20)
        return used;
    if (rest)
        *rest = REST_FRAMES;
    return 0;
}

// Moves the column in scratch to the payload.
static void add_blob(struct table_writer *writer, uint16_t column, const struct column_blob *blob)
{
    const size_t bound = compress_bound(blob->bytes);
    uint8_t *room = blob->bytes ? buffer_reserve(&writer->payload, bound) : NULL;

    if (!blob->bytes)
        return;
    if (!room) {
        writer->status = fail(GAIT_ERR_MEMORY, "no room for a column of %zu bytes", blob->bytes);
        return;
    }
    size_t stored = compress(writer, column, blob, room, bound);
    const bool is_compressed = stored != 0;
    if (!is_compressed) {
        memcpy(room, writer->scratch.bytes, blob->bytes);
        stored = blob->bytes;
    }
    GAIT_ASSERT(stored <= bound && writer->columns < SCHEMA_MAX_COLUMNS);
    writer->payload.used += stored;

    uint8_t *entry = writer->directory + FRAME_DIRECTORY_BYTES(writer->columns++);
    memset(entry, 0, 16);
    bytes_put16(entry, column);
    entry[2] = (uint8_t)blob->transform;
    entry[3] = (uint8_t)blob->packing;
    entry[4] = is_compressed ? COMPRESSION_ZSTD : COMPRESSION_NONE;
    bytes_put32(entry + 8, (uint32_t)blob->bytes);
    bytes_put32(entry + 12, (uint32_t)stored);
}

// Scratch with room for a packed column, or NULL: the frame has failed.
static uint8_t *scratch_for(struct table_writer *writer, size_t bytes)
{
    uint8_t *room = buffer_reserve(&writer->scratch, bytes);

    if (!room)
        writer->status = fail(GAIT_ERR_MEMORY, "no room for a column of %zu bytes", bytes);
    return room;
}

void table_put(struct table_writer *writer, uint16_t column, enum column_transform transform,
               const uint64_t *values)
{
    const bool counts = writer->has_first && holds(writer, column, COLUMN_TIME);
    const struct column_numbers numbers = {values, writer->rows, counts ? &writer->first : NULL};
    struct column_blob blob;
    uint8_t *room = NULL;

    if (accepts(writer, column, false))
        room = scratch_for(writer, column_bound(writer->rows));
    if (!room)
        return;
    column_pack(transform, &numbers, room, &blob);
    add_blob(writer, column, &blob);
}

void table_put_nested(struct table_writer *writer, const uint64_t *starts,
                      const uint64_t *durations, const uint64_t *depths)
{
    const struct nested_rows nest = {starts, durations, depths, writer->rows, writer->first};
    uint8_t *room = NULL;

    writer->has_first = true; // if only 0
    if (!writer->status)
        room = buffer_reserve(&writer->nest, nest_bytes(writer->rows));
    if (!room) {
        if (!writer->status)
            writer->status = fail(GAIT_ERR_MEMORY, "no room for %u spans", writer->rows);
        return;
    }
    uint64_t *gaps = (uint64_t *)(void *)room, *tails = gaps + writer->rows;
    GAIT_ASSERT(writer->nest.capacity >= nest_bytes(writer->rows));
    nested_times_encode(&nest, gaps, tails);
    table_put(writer, NESTED_STARTS, TRANSFORM_NESTED, gaps);
    table_put(writer, NESTED_DURATIONS, TRANSFORM_NESTED, tails);
    if (depths)
        table_put(writer, NESTED_DEPTHS, TRANSFORM_NONE, depths);
}

void table_put_constant(struct table_writer *writer, uint16_t column, uint64_t value)
{
    struct column_blob blob;
    uint8_t *room = NULL;

    if (accepts(writer, column, false) && writer->rows)
        room = scratch_for(writer, sizeof(value));
    if (!room)
        return;
    column_pack_constant(value, room, &blob);
    add_blob(writer, column, &blob);
}

void table_put_real(struct table_writer *writer, uint16_t column, const double *values)
{
    struct column_blob blob;
    uint8_t *room = NULL;

    _Static_assert(sizeof(double) == sizeof(uint64_t), "a real is stored as its 64 bits");
    if (accepts(writer, column, false))
        room = scratch_for(writer, column_bound(writer->rows));
    if (!room)
        return;
    column_pack_fixed((const uint64_t *)(const void *)values, writer->rows, room, &blob);
    add_blob(writer, column, &blob);
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

void table_put_bytes(struct table_writer *writer, uint16_t column, const struct slice *values)
{
    struct column_blob blob;

    if (!accepts(writer, column, true))
        return;
    const size_t total = total_bytes(values, writer->rows);
    uint8_t *room = scratch_for(writer, column_bound_bytes(writer->rows, total));
    if (!room)
        return;
    column_pack_bytes(values, writer->rows, total, room, &blob);
    add_blob(writer, column, &blob);
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
        return fail(GAIT_ERR_ARGUMENT, "a frame of %u rows cannot hold %u events from %llu to %llu",
                    writer->rows, about->events, (unsigned long long)about->first,
                    (unsigned long long)about->last);
    if (writer->has_first && about->first != writer->first)
        return fail(GAIT_ERR_ARGUMENT,
                    "the times of a frame are relative to %llu, but the frame begins at %llu",
                    (unsigned long long)writer->first, (unsigned long long)about->first);
    uint8_t *frame = buffer_reserve(writer->out, FRAME_HEADER_BYTES + stored);
    if (!frame)
        return fail(GAIT_ERR_MEMORY, "no room for a frame of %zu bytes", stored);

    GAIT_ASSERT((uint32_t)__builtin_popcount(writer->put) >=
                writer->columns); // empty ones are left out
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

#define SCHEMA_ROWS (TABLE_COUNT * 16) // one table alone has more than 16 columns

enum schema_kind { SCHEMA_OWN, SCHEMA_FOREIGN, SCHEMA_FACTS };

static uint32_t columns_of(const struct table_schema *schema, uint32_t table, enum schema_kind kind)
{
    const bool is_of_facts = table == TABLE_META || table == TABLE_INDEX || table == TABLE_FACT;
    if (kind == SCHEMA_FACTS)
        return is_of_facts ? schema->column_count : 0;
    return kind == SCHEMA_FOREIGN && table != TABLE_FACT ? schema->column_count : schema->own_count;
}

static int write_schema(struct table_writer *writer, enum schema_kind kind)
{
    struct slice names[SCHEMA_ROWS], columns[SCHEMA_ROWS], types[SCHEMA_ROWS];
    uint64_t tables[SCHEMA_ROWS], indexes[SCHEMA_ROWS];
    uint32_t rows = 0;

    for (uint32_t table = 0; table < TABLE_COUNT; table++) {
        const struct table_schema *schema = schema_table(table);
        const uint32_t count = columns_of(schema, table, kind);
        for (uint32_t i = 0; i < count && rows < SCHEMA_ROWS; i++, rows++) {
            tables[rows] = table;
            names[rows] = slice_of(schema->name);
            indexes[rows] = i;
            columns[rows] = slice_of(schema->columns[i].name);
            types[rows] = slice_of(schema_type_name(schema->columns[i].type));
        }
    }
    table_begin(writer, TABLE_SCHEMA, 0, rows);
    table_put(writer, COLUMN(SCHEMA, table), TRANSFORM_NONE, tables);
    table_put_bytes(writer, COLUMN(SCHEMA, name), names);
    table_put(writer, COLUMN(SCHEMA, index), TRANSFORM_NONE, indexes);
    table_put_bytes(writer, COLUMN(SCHEMA, column), columns);
    table_put_bytes(writer, COLUMN(SCHEMA, type), types);
    return table_end(writer, &(struct table_about){0}, NULL);
}

int table_write_schema(struct table_writer *writer)
{
    return write_schema(writer, SCHEMA_OWN);
}

int table_write_schema_foreign(struct table_writer *writer)
{
    return write_schema(writer, SCHEMA_FOREIGN);
}

int table_write_schema_facts(struct table_writer *writer)
{
    return write_schema(writer, SCHEMA_FACTS);
}
