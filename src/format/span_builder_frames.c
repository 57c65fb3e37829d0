// SPDX-License-Identifier: Apache-2.0
// From rows to frames, and the commit that closes a batch.
#include <string.h>

#include "base/fail.h"
#include "base/invariant.h"
#include "format/span_builder_rows.h"

#include "format/columns.h"

#define OPEN_ROWS_A_FRAME 512
#define OPEN_BYTES_A_FRAME (1u << 20) // of arguments, and one span's more

static void move_rows(struct span_builder *builder, uint32_t to, uint32_t from, uint32_t count)
{
    struct span_builder_rows *rows = &builder->tables[SPAN_BUILDER_SPAN];
    for (int c = 0; c < span_builder_shapes[SPAN_BUILDER_SPAN].column_count; c++) {
        memmove(&rows->columns[c][to], &rows->columns[c][from], count * sizeof(uint64_t));
    }
    memmove(&builder->args_of_row[to], &builder->args_of_row[from], count * sizeof(uint32_t));
}

static size_t chain_bytes(const struct span_builder *builder, uint32_t offset)
{
    size_t bytes = 0;
    while (offset) {
        struct span_builder_piece piece;
        memcpy(&piece, builder->pieces.bytes + offset, sizeof(piece));
        bytes += piece.bytes;
        offset = piece.before;
    }
    return bytes;
}

// Copies a chain so that it ends at `end`: the last piece is met first.
static void copy_chain(const struct span_builder *builder, uint32_t offset, uint8_t *end)
{
    while (offset) {
        struct span_builder_piece piece;
        memcpy(&piece, builder->pieces.bytes + offset, sizeof(piece));
        end -= piece.bytes;
        memcpy(end, builder->pieces.bytes + offset + sizeof(piece), piece.bytes);
        offset = piece.before;
    }
}

// A span that stays open keeps its arguments until the frame it ends in.
static void keep_args(struct span_builder *builder, struct span_builder_span *span)
{
    uint32_t offset = builder->args_of_row[span->row];
    size_t bytes = chain_bytes(builder, offset);
    uint8_t *room = bytes ? buffer_reserve(&span->args, bytes) : NULL;
    if (!room)
        return;
    copy_chain(builder, offset, room + bytes);
    span->args.used += bytes;
}

// Takes the rows of spans still open out of the frame: they are written where
// they end.
static void carry_open_spans(struct span_builder *builder, struct span_builder_track *track)
{
    struct span_builder_rows *rows = &builder->tables[SPAN_BUILDER_SPAN];
    uint32_t first = 0;
    while (first < track->open_count && track->open[first].row < 0) {
        first++;
    }
    for (uint32_t i = first; i < track->open_count; i++) {
        struct span_builder_span *span = &track->open[i];
        uint32_t hole = (uint32_t)span->row;
        uint32_t end = i + 1 < track->open_count ? (uint32_t)track->open[i + 1].row : rows->end;
        GAIT_ASSERT(hole < end && end <= rows->end); // later ones stand further down
        keep_args(builder, span);
        move_rows(builder, hole - (i - first), hole + 1, end - hole - 1);
        span->row = -1;
    }
    GAIT_ASSERT(rows->end - rows->begin >= track->open_count - first);
    rows->end -= track->open_count - first;
}

static int put_args(struct span_builder *builder, uint16_t column)
{
    const struct span_builder_rows *rows = &builder->tables[SPAN_BUILDER_SPAN];
    // no piece is used twice, so the joined bytes are fewer than the pieces'
    if (builder->joined.capacity < builder->pieces.used) {
        builder->joined.used = 0;
        if (!buffer_reserve(&builder->joined, builder->pieces.used))
            return fail(GAIT_ERR_MEMORY, "no memory for the arguments of a frame");
    }
    uint8_t *next = builder->joined.bytes;
    for (uint32_t row = rows->begin; row < rows->end; row++) {
        size_t bytes = chain_bytes(builder, builder->args_of_row[row]);
        copy_chain(builder, builder->args_of_row[row], next + bytes);
        builder->args_column[row] = (struct slice){next, bytes};
        next += bytes;
    }
    GAIT_ASSERT((size_t)(next - builder->joined.bytes) <= builder->pieces.used);
    table_put_bytes(builder->writer, column, builder->args_column + rows->begin);
    return 0;
}

static void put_numbers(struct span_builder *builder, enum span_builder_table table)
{
    const struct span_builder_table_shape *shape = &span_builder_shapes[table];
    uint64_t *const *columns = builder->tables[table].columns;
    const uint32_t begin = builder->tables[table].begin;
    uint16_t c = 0;
    if (table == SPAN_BUILDER_SPAN || table == SPAN_BUILDER_STEP) {
        const uint64_t *depths = table == SPAN_BUILDER_SPAN ? columns[NESTED_DEPTHS] + begin : NULL;
        table_put_nested(builder->writer, columns[COLUMN(SPAN, start)] + begin,
                         columns[COLUMN(SPAN, duration)] + begin, depths);
        c = 2;
    }
    for (; c < shape->column_count; c++) {
        if (table != SPAN_BUILDER_SPAN || c != NESTED_DEPTHS)
            table_put(builder->writer, c, shape->transforms[c], columns[c] + begin);
    }
}

// In pairs, for one comparison must wait for the other.
static uint64_t smallest(const uint64_t *values, uint32_t count)
{
    uint64_t first = values[0], other = values[count - 1];
    for (uint32_t i = 1; i < count; i += 2) {
        first = values[i] < first ? values[i] : first;
        other = values[i - 1] < other ? values[i - 1] : other;
    }
    return first < other ? first : other;
}

static int write_rows(struct span_builder *builder, enum span_builder_table table, uint32_t track)
{
    const struct span_builder_table_shape *shape = &span_builder_shapes[table];
    struct span_builder_rows *rows = &builder->tables[table];
    GAIT_ASSERT(rows->begin <= rows->end && rows->events <= rows->end - rows->begin);
    uint32_t count = rows->end - rows->begin;
    int status = 0;
    if (count == 0)
        return 0;
    struct table_about about = {smallest(rows->columns[COLUMN(SPAN, start)] + rows->begin, count),
                                rows->last, (uint32_t)rows->events};
    table_begin(builder->writer, shape->table, track, count);
    table_count_from(builder->writer, about.first);
    put_numbers(builder, table);
    if (shape->args_column && builder->has_args)
        status = put_args(builder, shape->args_column);
    int ended = table_end(builder->writer, &about, NULL);
    return status ? status : ended;
}

// No row has arguments to begin with, so that a span need not say so.
static void forget_args(struct span_builder *builder, uint32_t end)
{
    const uint32_t begin = builder->tables[SPAN_BUILDER_SPAN].begin;
    if (builder->has_args)
        memset(&builder->args_of_row[begin], 0, (end - begin) * sizeof(*builder->args_of_row));
}

// What its rows are, whether or not they can be written.
static uint64_t count_events(struct span_builder *builder, enum span_builder_table table)
{
    struct span_builder_rows *rows = &builder->tables[table];
    if (table == SPAN_BUILDER_SPAN || table == SPAN_BUILDER_STEP)
        rows->events = rows->end - rows->begin;
    return rows->events;
}

int span_builder_flush(struct span_builder *builder, struct span_builder_track *track,
                       uint64_t *events)
{
    int status = 0;
    uint64_t all = 0;
    const uint32_t end = builder->tables[SPAN_BUILDER_SPAN].end;
    carry_open_spans(builder, track);
    for (int table = 0; table < SPAN_BUILDER_TABLE_COUNT; table++) {
        all += count_events(builder, (enum span_builder_table)table);
        if (status == 0)
            status = write_rows(builder, (enum span_builder_table)table, track->track);
    }
    forget_args(builder, end);
    span_builder_reset(builder);
    if (events)
        *events += all;
    return status;
}

// --- commit ---------------------------------------------------------------

struct open_rows {
    uint64_t columns[COLUMN(OPEN, args)][OPEN_ROWS_A_FRAME];
    struct slice args[OPEN_ROWS_A_FRAME];
    size_t args_bytes;
    uint32_t count;
};

static int write_open_rows(struct table_writer *writer, struct open_rows *rows)
{
    struct table_about about = {0};
    if (rows->count == 0)
        return 0;
    table_begin(writer, TABLE_OPEN, 0, rows->count);
    for (uint16_t c = 0; c < COLUMN(OPEN, args); c++) {
        table_put(writer, c, TRANSFORM_NONE, rows->columns[c]);
    }
    table_put_bytes(writer, COLUMN(OPEN, args), rows->args);
    rows->count = 0;
    rows->args_bytes = 0;
    return table_end(writer, &about, NULL);
}

static int add_open_row(struct table_writer *writer, struct open_rows *rows,
                        const uint64_t values[6], struct slice args)
{
    GAIT_ASSERT(rows->count < OPEN_ROWS_A_FRAME);
    for (int c = 0; c < 6; c++) {
        rows->columns[c][rows->count] = values[c];
    }
    rows->args[rows->count++] = args;
    rows->args_bytes += args.count;
    bool is_full = rows->count == OPEN_ROWS_A_FRAME || rows->args_bytes > OPEN_BYTES_A_FRAME;
    return is_full ? write_open_rows(writer, rows) : 0;
}

static int write_open_track(struct table_writer *writer, struct open_rows *rows,
                            const struct span_builder_track *track)
{
    int status = 0;
    if (track->has_step) {
        const uint64_t values[6] = {track->track, track->step_start, 0, 0, track->step_number, 1};
        status = add_open_row(writer, rows, values, (struct slice){0});
    }
    for (uint32_t i = 0; i < track->open_count && status == 0; i++) {
        const struct span_builder_span *span = &track->open[i];
        const uint64_t values[6] = {track->track, span->start, span->site, span->depth, 0, 0};
        status =
            add_open_row(writer, rows, values, (struct slice){span->args.bytes, span->args.used});
    }
    return status;
}

int span_builder_commit(struct span_builder *builder, struct span_builder_track *const *tracks,
                        uint32_t track_count)
{
    struct table_writer *writer = builder->writer;
    struct open_rows rows;
    struct table_about about = {0};
    int status = 0;
    rows.count = 0;
    rows.args_bytes = 0;
    for (uint32_t i = 0; i < track_count && status == 0; i++) {
        status = write_open_track(writer, &rows, tracks[i]);
    }
    if (status == 0)
        status = write_open_rows(writer, &rows);
    for (uint32_t done = 0; done < track_count && status == 0;) {
        uint32_t count = track_count - done;
        if (count > OPEN_ROWS_A_FRAME)
            count = OPEN_ROWS_A_FRAME;
        for (uint32_t i = 0; i < count; i++) {
            rows.columns[COLUMN(COMMIT, track)][i] = tracks[done + i]->track;
            rows.columns[COLUMN(COMMIT, position)][i] = tracks[done + i]->position;
            rows.columns[COLUMN(COMMIT, lost)][i] = tracks[done + i]->lost;
            rows.columns[COLUMN(COMMIT, begun)][i] = tracks[done + i]->begun;
        }
        table_begin(writer, TABLE_COMMIT, 0, count);
        for (uint16_t c = 0; c < COLUMN_COUNT(COMMIT); c++) {
            table_put(writer, c, TRANSFORM_NONE, rows.columns[c]);
        }
        status = table_end(writer, &about, NULL);
        done += count;
    }
    return status;
}

int span_builder_write_loss(struct table_writer *writer, uint32_t track,
                            const struct span_builder_loss *loss)
{
    uint64_t duration = loss->last > loss->first ? loss->last - loss->first : 0;
    uint64_t reason = loss->reason;
    struct table_about about = {loss->first, loss->first + duration, 0};
    table_begin(writer, TABLE_DROP, track, 1);
    table_put(writer, COLUMN(DROP, start), TRANSFORM_NONE, &loss->first);
    table_put(writer, COLUMN(DROP, duration), TRANSFORM_NONE, &duration);
    table_put(writer, COLUMN(DROP, events), TRANSFORM_NONE, &loss->events);
    table_put(writer, COLUMN(DROP, reason), TRANSFORM_NONE, &reason);
    return table_end(writer, &about, NULL);
}
