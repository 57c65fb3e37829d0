// SPDX-License-Identifier: Apache-2.0
#include "export/parquet/parquet_rows.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gait/trace.h>

#include "base/array.h"
#include "base/fail.h"
#include "base/utf8.h"
#include "export/exporter.h"
#include "export/parquet/parquet_file.h"
#include "export/parquet/rank_rows.h"
#include "export/row_shape.h"
#include "load/shard_owner.h"

enum { MOST_BYTES = 1 << 30, MOST_ARGS = 1 << 20, KNOWN = 1 << 12 };

#define TEXT PARQUET_TEXT, PARQUET_UTF8
#define INTEGER PARQUET_INT64, PARQUET_PLAIN
// The rank is the last one: a file in the folder of its rank has it not.
#define COLUMNS_OF(X)                                                                              \
    X(KIND, "kind", TEXT, .has_words = true)                                                       \
    X(CATEGORY, "category", TEXT, .is_optional = true, .has_words = true)                          \
    X(NAME, "name", TEXT, .is_optional = true, .has_words = true)                                  \
    X(PID, "pid", INTEGER, .is_optional = false)                                                   \
    X(TID, "tid", TEXT, .is_optional = true, .has_words = true)                                    \
    X(START, "start_ns", INTEGER, .is_optional = false)                                            \
    X(DURATION, "duration_ns", INTEGER, .is_optional = true)                                       \
    X(ID, "id", PARQUET_INT64, PARQUET_UINT64, .is_optional = true)                                \
    X(VALUE, "value", PARQUET_DOUBLE, PARQUET_PLAIN, .is_optional = true)                          \
    X(ROW, "row_id", INTEGER, .is_optional = true)                                                 \
    X(PARENT, "parent_id", INTEGER, .is_optional = true)                                           \
    X(OP, "op_id", INTEGER, .is_optional = true)                                                   \
    X(LAUNCH, "launch_id", INTEGER, .is_optional = true)                                           \
    X(STEP, "step", INTEGER, .is_optional = true)                                                  \
    X(DEVICE, "device", INTEGER, .is_optional = true)                                              \
    X(STREAM, "stream", INTEGER, .is_optional = true)                                              \
    X(BYTES, "bytes", INTEGER, .is_optional = true)                                                \
    X(DTYPE, "dtype", TEXT, .is_optional = true, .has_words = true)                                \
    X(SHAPES, "shapes", TEXT, .is_optional = true, .has_words = true)                              \
    X(GROUP, "process_group", TEXT, .is_optional = true, .has_words = true)                        \
    X(SEQUENCE, "sequence", INTEGER, .is_optional = true)                                          \
    X(ARGS, "args", TEXT, .is_optional = true)                                                     \
    X(RANK, "rank", INTEGER, .is_optional = true)

enum column {
#define X(identifier, ...) identifier,
    COLUMNS_OF(X)
#undef X
        COLUMNS
};

static const struct parquet_kind kinds[COLUMNS] = {
#define X(identifier, ...) [identifier] = {__VA_ARGS__},
    COLUMNS_OF(X)
#undef X
};

// Arguments that have a column, as torch's profiler calls them; of two the first that is there.
static const struct {
    const char *key;
    enum column column;
} typed[] = {
    {"device", DEVICE},
    {"stream", STREAM},
    {"bytes", BYTES},
    {"dtype", DTYPE},
    {"Input type", DTYPE},
    {"Input Dims", SHAPES},
    {"Process Group Name", GROUP},
    {"Seq", SEQUENCE},
    {"Sequence number", SEQUENCE},
};
enum { TYPED = sizeof typed / sizeof typed[0] };

// A text that stays where it is while the trace is open, and its word in the group being made.
struct known {
    const char *text;
    size_t group;
    enum column column;
    uint32_t word;
};

// Where a track's events were.
struct place {
    int64_t pid, rank;
    const char *tid; // NULL: not asked yet
    char digits[24];
};

struct writing {
    const struct export_run *run;
    struct parquet_file file;
    struct buffer text;
    struct gait_arg *rest; // arguments without a column
    size_t rest_capacity;
    struct place *places; // of each track
    struct known known[KNOWN];
};

// --- rows ------------------------------------------------------------------------------

static int add_text(struct writing *writing, enum column column, const char *text)
{
    struct buffer *repaired = &writing->text;
    if (!text || !*text)
        return parquet_column_add_none(&writing->file.columns[column]);
    repaired->used = 0;
    int status = utf8_append_repaired(repaired, text, strlen(text));
    const struct slice slice = {repaired->bytes, repaired->used};
    return status ? status : parquet_column_add_text(&writing->file.columns[column], slice);
}

// Names come again in each row: to repair and hash them anew took a tenth of an export.
static int add_lasting(struct writing *writing, enum column column, const char *text)
{
    const size_t group = writing->file.group_count;
    struct known *known = &writing->known[(((uintptr_t)text >> 2) + 977 * column) % KNOWN];
    if (!text || !*text)
        return parquet_column_add_none(&writing->file.columns[column]);
    if (known->text == text && known->column == column && known->group == group)
        return parquet_column_add_word(&writing->file.columns[column], known->word);
    const int status = add_text(writing, column, text);
    if (!status)
        *known = (struct known){text, group, column,
                                parquet_column_last_word(&writing->file.columns[column])};
    return status;
}

static int add_if(struct parquet_column *column, bool is_there, const void *value)
{
    return is_there ? parquet_column_add(column, value) : parquet_column_add_none(column);
}

// Streams and counters have no thread; their key says which one it was.
static int find_place(struct writing *writing, uint32_t track, const struct place **ret_place)
{
    struct place *place = &writing->places[track];
    struct gait_track_info info;
    struct gait_shard_info shard;
    *ret_place = place;
    if (place->tid)
        return GAIT_OK;
    int status = gait_trace_track(writing->run->trace, track, &info);
    if (!status)
        status = gait_trace_shard(writing->run->trace, info.shard, &shard);
    if (status)
        return status;
    place->pid = shard.pid;
    place->rank = shard.rank;
    place->tid = info.key;
    if (info.kind == GAIT_TRACK_THREAD && info.tid) {
        snprintf(place->digits, sizeof place->digits, "%lld", (long long)info.tid);
        place->tid = place->digits;
    }
    return GAIT_OK;
}

static int add_numbers(struct writing *writing, const struct row_shape *shape,
                       const struct gait_event *event)
{
    struct parquet_column *columns = writing->file.columns;
    const double value = event->is_real ? event->real : (double)event->value;
    int status = parquet_column_add(&columns[START], &event->start_ns);
    if (!status)
        status = add_if(&columns[DURATION], shape->has_duration && event->duration_ns >= 0,
                        &event->duration_ns);
    if (!status)
        status = add_if(&columns[ID], shape->has_id, &event->id);
    return status ? status : add_if(&columns[VALUE], shape->has_value, &value);
}

static bool is_null(const struct gait_arg *arg)
{
    return arg->kind == GAIT_ARG_JSON && !strcmp(arg->text, "null");
}

// Whether the argument went into a column of its own.
static int add_typed(struct writing *writing, const struct gait_arg *arg, bool *has,
                     bool *ret_is_added)
{
    *ret_is_added = false;
    for (size_t i = 0; i < TYPED; i++) {
        const enum column at = typed[i].column;
        const bool is_text = kinds[at].type == PARQUET_TEXT;
        const bool is_fit = is_text ? arg->kind == GAIT_ARG_TEXT || arg->kind == GAIT_ARG_JSON
                                    : arg->kind == GAIT_ARG_INT;
        if (arg->key[0] != typed[i].key[0] || has[at] || !is_fit ||
            strcmp(arg->key, typed[i].key) != 0)
            continue;
        has[at] = *ret_is_added = !is_text || (*arg->text && !is_null(arg));
        if (!has[at])
            return GAIT_OK;
        return is_text ? add_text(writing, at, arg->text)
                       : parquet_column_add(&writing->file.columns[at], &arg->integer);
    }
    return GAIT_OK;
}

static int add_args(struct writing *writing, const struct gait_event *given)
{
    struct gait_event event = *given;
    bool has[COLUMNS] = {false}, is_added;
    event.arg_count = 0;
    int status = GAIT_OK;
    for (size_t i = 0; i < given->arg_count && !status; i++) {
        status = add_typed(writing, &given->args[i], has, &is_added);
        if (!status && !is_added)
            status = ARRAY_ADD(writing->rest, event.arg_count, writing->rest_capacity, MOST_ARGS,
                               &given->args[i]);
    }
    for (size_t i = 0; i < TYPED && !status; i++) {
        if (!has[typed[i].column])
            status = parquet_column_add_none(&writing->file.columns[typed[i].column]);
        has[typed[i].column] = true;
    }
    event.args = writing->rest;
    if (!status)
        status = row_shape_args(&event, &writing->text);
    const struct slice text = {writing->text.bytes, writing->text.used};
    if (status || !text.count)
        return status ? status : parquet_column_add_none(&writing->file.columns[ARGS]);
    return parquet_column_add_text(&writing->file.columns[ARGS], text);
}

static int add_links(struct writing *writing, const struct rank_row *row)
{
    const int64_t values[] = {row->row, row->parent, row->op, row->launch};
    int status = GAIT_OK;
    for (unsigned i = 0; i < 4 && !status; i++)
        status = add_if(&writing->file.columns[ROW + i], values[i] != 0, &values[i]);
    return status ? status : add_if(&writing->file.columns[STEP], row->step >= 0, &row->step);
}

static int add_row(void *context, const struct rank_row *row)
{
    struct writing *writing = context;
    const struct gait_event *event = row->event;
    if ((unsigned)event->kind >= GAIT_KIND_COUNT)
        return GAIT_OK;
    const struct row_shape *shape = &row_shapes[event->kind];
    // the name of a span is its site's; those of others may be made for the row
    int (*const add_name)(struct writing *, enum column, const char *) =
        event->kind == GAIT_KIND_SPAN ? add_lasting : add_text;
    const struct place *place;
    int status = find_place(writing, event->track, &place);
    if (!status)
        status = add_lasting(writing, KIND, shape->kind);
    if (!status)
        status = add_name(writing, CATEGORY, event->category);
    if (!status)
        status = add_name(writing, NAME, event->name);
    if (!status)
        status = parquet_column_add(&writing->file.columns[PID], &place->pid);
    if (!status)
        status = add_lasting(writing, TID, place->tid);
    if (!status)
        status = add_numbers(writing, shape, event);
    if (!status)
        status = add_links(writing, row);
    if (!status)
        status = add_args(writing, event);
    if (!status && writing->file.column_count > RANK)
        status = add_if(&writing->file.columns[RANK], place->rank >= 0, &place->rank);
    return status ? status : parquet_file_end_row(&writing->file);
}

// --- all -------------------------------------------------------------------------------

// The process that is wished; one after the other where it is none. What devices of a process did
// stands in its file.
static int write_all(struct writing *writing)
{
    struct gait_trace *trace = writing->run->trace;
    const uint32_t process = writing->run->options->process;
    const uint32_t count = gait_trace_shard_count(trace);
    const uint32_t end = process && process < count ? process : count;
    int status = GAIT_OK;
    for (uint32_t i = process ? process - 1 : 0; i < end && !status; i++)
        if (shard_owner(trace, i) == i)
            status = rank_rows_each(writing->run, i, add_row, writing);
    return status ? status : parquet_file_end(&writing->file);
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
    struct place *places = calloc((size_t)gait_trace_track_count(run->trace) + 1, sizeof *places);
    if (!writing || !places) {
        free(writing);
        free(places);
        return fail(GAIT_ERR_MEMORY, "no memory for a Parquet file");
    }
    writing->run = run;
    writing->places = places;
    buffer_init(&writing->text, MOST_BYTES);
    parquet_file_begin(&writing->file, run->out, kinds,
                       parquet_rows_have_rank(run->trace) ? COLUMNS : RANK);
    const int status = write_all(writing);
    parquet_file_finish(&writing->file);
    buffer_finish(&writing->text);
    free(writing->rest);
    free(places);
    free(writing);
    return status;
}
