// SPDX-License-Identifier: Apache-2.0
// Rows are kept until a row group is full; the footer at the end says where all pages are.
#include "export/parquet/parquet_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gait/trace.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/utf8.h"
#include "export/exporter.h"
#include "export/output/output_stream.h"
#include "export/parquet/parquet_column.h"
#include "export/parquet/thrift_writer.h"
#include "export/row_shape.h"

enum {
    GROUP_ROWS = 1 << 17,
    GROUP_BYTES = 64 << 20, // of arguments
    MOST_BYTES = 1 << 30,
    CODEC_ZSTD = 6,
};

enum column { KIND, CATEGORY, NAME, PID, TID, START, DURATION, ID, VALUE, ARGS, RANK, COLUMNS };

static const struct parquet_kind kinds[COLUMNS] = {
    [KIND] = {"kind", PARQUET_TEXT, PARQUET_UTF8, .has_words = true},
    [CATEGORY] = {"category", PARQUET_TEXT, PARQUET_UTF8, .is_optional = true, .has_words = true},
    [NAME] = {"name", PARQUET_TEXT, PARQUET_UTF8, .is_optional = true, .has_words = true},
    [PID] = {"pid", PARQUET_INT64, PARQUET_PLAIN, .is_optional = false},
    [TID] = {"tid", PARQUET_TEXT, PARQUET_UTF8, .is_optional = true, .has_words = true},
    [START] = {"start_ns", PARQUET_INT64, PARQUET_PLAIN, .is_optional = false},
    [DURATION] = {"duration_ns", PARQUET_INT64, PARQUET_PLAIN, .is_optional = true},
    [ID] = {"id", PARQUET_INT64, PARQUET_UINT64, .is_optional = true},
    [VALUE] = {"value", PARQUET_DOUBLE, PARQUET_PLAIN, .is_optional = true},
    [ARGS] = {"args", PARQUET_TEXT, PARQUET_UTF8, .is_optional = true},
    // The last one: a file in the folder of its rank has it not.
    [RANK] = {"rank", PARQUET_INT64, PARQUET_PLAIN, .is_optional = true},
};

struct group {
    struct parquet_chunk chunks[COLUMNS];
};

struct writing {
    const struct export_run *run;
    struct parquet_column columns[COLUMNS];
    size_t column_count;
    struct group *groups;
    size_t group_count, group_room, rows;
    int64_t at, all_rows; // bytes and rows written
    struct buffer text, pages;
    int64_t pid, rank; // of the track
    uint32_t track;
    bool has_track;
    char tid[32];
    const char *place; // what the tid is called
};

static void put(struct writing *writing, const void *bytes, size_t count)
{
    output_write(writing->run->out, bytes, count);
    writing->at += (int64_t)count;
}

// --- row groups and the footer ---------------------------------------------------------

static int end_group(struct writing *writing)
{
    const struct array_shape shape = {sizeof *writing->groups, 1 << 20};
    int status = GAIT_OK;
    if (!writing->rows)
        return GAIT_OK;
    status = array_reserve((void **)&writing->groups, &writing->group_room,
                           writing->group_count + 1, shape);
    for (size_t i = 0; !status && i < writing->column_count; i++) {
        writing->pages.used = 0;
        status = parquet_column_write(&writing->columns[i], &writing->pages, writing->at,
                                      &writing->groups[writing->group_count].chunks[i]);
        if (!status)
            put(writing, writing->pages.bytes, writing->pages.used);
    }
    writing->group_count++;
    writing->all_rows += (int64_t)writing->rows;
    writing->rows = 0;
    return status ? status : writing->run->out->status;
}

static void put_schema(struct thrift_writer *footer, size_t count)
{
    thrift_begin_list(footer, 2, THRIFT_STRUCT, count + 1);
    thrift_begin_element(footer);
    thrift_put_text(footer, 4, "events");
    thrift_put_i32(footer, 5, (int32_t)count);
    thrift_end(footer);
    for (size_t i = 0; i < count; i++) {
        thrift_begin_element(footer);
        thrift_put_i32(footer, 1, (int32_t)kinds[i].type);
        thrift_put_i32(footer, 3, kinds[i].is_optional);
        thrift_put_text(footer, 4, kinds[i].name);
        if (kinds[i].meaning != PARQUET_PLAIN)
            thrift_put_i32(footer, 6, (int32_t)kinds[i].meaning);
        thrift_end(footer);
    }
}

static void put_chunk(struct thrift_writer *footer, const struct parquet_kind *kind,
                      const struct parquet_chunk *chunk)
{
    thrift_begin_element(footer);
    thrift_put_i64(footer, 2, kind->has_words ? chunk->dictionary_at : chunk->data_at);
    thrift_begin_struct(footer, 3);
    thrift_put_i32(footer, 1, (int32_t)kind->type);
    thrift_begin_list(footer, 2, THRIFT_I32, kind->has_words ? 3 : 2);
    thrift_add_i32(footer, 0); // PLAIN
    thrift_add_i32(footer, 3); // RLE
    if (kind->has_words)
        thrift_add_i32(footer, 8); // RLE_DICTIONARY
    thrift_begin_list(footer, 3, THRIFT_TEXT, 1);
    thrift_add_text(footer, kind->name);
    thrift_put_i32(footer, 4, CODEC_ZSTD);
    thrift_put_i64(footer, 5, chunk->rows);
    thrift_put_i64(footer, 6, chunk->plain_bytes);
    thrift_put_i64(footer, 7, chunk->packed_bytes);
    thrift_put_i64(footer, 9, chunk->data_at);
    if (kind->has_words)
        thrift_put_i64(footer, 11, chunk->dictionary_at);
    thrift_end(footer);
    thrift_end(footer);
}

static void put_group(struct thrift_writer *footer, const struct group *group, size_t count)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += group->chunks[i].plain_bytes;
    thrift_begin_element(footer);
    thrift_begin_list(footer, 1, THRIFT_STRUCT, count);
    for (size_t i = 0; i < count; i++)
        put_chunk(footer, &kinds[i], &group->chunks[i]);
    thrift_put_i64(footer, 2, bytes);
    thrift_put_i64(footer, 3, group->chunks[0].rows);
    thrift_end(footer);
}

static int write_footer(struct writing *writing)
{
    struct thrift_writer footer = {.out = &writing->pages};
    uint8_t size[4];
    writing->pages.used = 0;
    thrift_put_i32(&footer, 1, 1);
    put_schema(&footer, writing->column_count);
    thrift_put_i64(&footer, 3, writing->all_rows);
    thrift_begin_list(&footer, 4, THRIFT_STRUCT, writing->group_count);
    for (size_t i = 0; i < writing->group_count; i++)
        put_group(&footer, &writing->groups[i], writing->column_count);
    thrift_put_text(&footer, 6, "gait");
    thrift_end(&footer);
    bytes_put32(size, (uint32_t)writing->pages.used);
    put(writing, writing->pages.bytes, writing->pages.used);
    put(writing, size, sizeof size);
    put(writing, "PAR1", 4);
    return footer.status;
}

// --- rows ------------------------------------------------------------------------------

static int add_text(struct writing *writing, enum column column, const char *text)
{
    struct buffer *repaired = &writing->text;
    if (!text || !*text)
        return parquet_column_add_none(&writing->columns[column]);
    repaired->used = 0;
    int status = utf8_append_repaired(repaired, text, strlen(text));
    const struct slice slice = {repaired->bytes, repaired->used};
    return status ? status : parquet_column_add_text(&writing->columns[column], slice);
}

static int add_if(struct parquet_column *column, bool is_there, const void *value)
{
    return is_there ? parquet_column_add(column, value) : parquet_column_add_none(column);
}

// Streams and counters have no thread; their key says which one it was.
static int find_place(struct writing *writing, uint32_t track)
{
    struct gait_track_info info;
    struct gait_shard_info shard;
    if (writing->has_track && writing->track == track)
        return GAIT_OK;
    int status = gait_trace_track(writing->run->trace, track, &info);
    if (!status)
        status = gait_trace_shard(writing->run->trace, info.shard, &shard);
    if (status)
        return status;
    writing->pid = shard.pid;
    writing->rank = shard.rank;
    writing->place = info.key;
    if (info.kind == GAIT_TRACK_THREAD && info.tid) {
        snprintf(writing->tid, sizeof writing->tid, "%lld", (long long)info.tid);
        writing->place = writing->tid;
    }
    writing->track = track;
    writing->has_track = true;
    return GAIT_OK;
}

static int add_numbers(struct writing *writing, const struct row_shape *shape,
                       const struct gait_event *event)
{
    struct parquet_column *columns = writing->columns;
    const double value = event->is_real ? event->real : (double)event->value;
    int status = parquet_column_add(&columns[START], &event->start_ns);
    if (!status)
        status = add_if(&columns[DURATION], shape->has_duration && event->duration_ns >= 0,
                        &event->duration_ns);
    if (!status)
        status = add_if(&columns[ID], shape->has_id, &event->id);
    return status ? status : add_if(&columns[VALUE], shape->has_value, &value);
}

static int add_args(struct writing *writing, const struct gait_event *event)
{
    int status = row_shape_args(event, &writing->text);
    const struct slice text = {writing->text.bytes, writing->text.used};
    if (status || !text.count)
        return status ? status : parquet_column_add_none(&writing->columns[ARGS]);
    return parquet_column_add_text(&writing->columns[ARGS], text);
}

static int add_row(void *context, const struct gait_event *event)
{
    struct writing *writing = context;
    if ((unsigned)event->kind >= GAIT_KIND_COUNT)
        return GAIT_OK;
    const struct row_shape *shape = &row_shapes[event->kind];
    int status = find_place(writing, event->track);
    if (!status)
        status = add_text(writing, KIND, shape->kind);
    if (!status)
        status = add_text(writing, CATEGORY, event->category);
    if (!status)
        status = add_text(writing, NAME, event->name);
    if (!status)
        status = parquet_column_add(&writing->columns[PID], &writing->pid);
    if (!status)
        status = add_text(writing, TID, writing->place);
    if (!status)
        status = add_numbers(writing, shape, event);
    if (!status)
        status = add_args(writing, event);
    if (!status && writing->column_count > RANK)
        status = add_if(&writing->columns[RANK], writing->rank >= 0, &writing->rank);
    if (status)
        return status;
    writing->rows++;
    if (writing->rows < GROUP_ROWS && writing->columns[ARGS].values.used < GROUP_BYTES)
        return GAIT_OK;
    return end_group(writing);
}

// --- all -------------------------------------------------------------------------------

// The tracks of the process that is wished; of all where it is none.
static int list_tracks(const struct export_run *run, uint32_t **ret_tracks, uint32_t *ret_count)
{
    const uint32_t count = gait_trace_track_count(run->trace);
    uint32_t *tracks = malloc(((size_t)count + 1) * sizeof *tracks);
    int status = tracks ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for %u tracks", count);
    *ret_tracks = tracks;
    for (uint32_t i = 0; !status && i < count; i++) {
        struct gait_track_info info;
        status = gait_trace_track(run->trace, i, &info);
        if (!status && (!run->options->process || info.shard + 1 == run->options->process))
            tracks[(*ret_count)++] = i;
    }
    return status;
}

static int write_all(struct writing *writing)
{
    uint32_t *tracks = NULL, count = 0;
    int status = list_tracks(writing->run, &tracks, &count);
    const struct export_pass pass = {
        .tracks = tracks, .track_count = count, .take = add_row, .context = writing};
    put(writing, "PAR1", 4);
    if (!status && count)
        status = export_each_event_of(writing->run, &pass);
    if (!status)
        status = end_group(writing);
    free(tracks);
    return status ? status : write_footer(writing);
}

bool parquet_rows_have_rank(struct gait_trace *trace)
{
    struct gait_shard_info shard;
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++) {
        if (!gait_trace_shard(trace, i, &shard) && shard.rank < 0)
            return true;
    }
    return false;
}

int parquet_rows_write(const struct export_run *run)
{
    if (run->options->gzip)
        return fail(GAIT_ERR_ARGUMENT, "the pages of a Parquet file are packed: leave out gzip");
    struct writing *writing = calloc(1, sizeof *writing);
    if (!writing)
        return fail(GAIT_ERR_MEMORY, "no memory for a Parquet file");
    writing->run = run;
    writing->column_count = parquet_rows_have_rank(run->trace) ? COLUMNS : RANK;
    buffer_init(&writing->text, MOST_BYTES);
    buffer_init(&writing->pages, MOST_BYTES);
    for (size_t i = 0; i < COLUMNS; i++)
        parquet_column_init(&writing->columns[i], &kinds[i]);
    const int status = write_all(writing);
    for (size_t i = 0; i < COLUMNS; i++)
        parquet_column_finish(&writing->columns[i]);
    buffer_finish(&writing->pages);
    buffer_finish(&writing->text);
    free(writing->groups);
    free(writing);
    return status;
}
