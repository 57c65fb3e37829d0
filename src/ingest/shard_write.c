// SPDX-License-Identifier: Apache-2.0
// Rows first, then the names that they use.
#define _GNU_SOURCE
#include "ingest/shard_write.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/json_reader.h"
#include "base/utf8.h"
#include "format/columns.h"
#include "ingest/lane_frame.h"
#include "ingest/names/used_names.h"
#include "ingest/track_merge.h"
#include "shard/shard_out.h"
#include "vocabulary/metadata.h"

#define CLOCK_ID 1
#define BATCH_ROWS 16384
#define BATCH_BYTES ((size_t)2 << 20)
#define MOST_JSON ((size_t)32 << 20)
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define NAMES_LEVEL 1 // 15 takes 67 MB for each input
#else
#define NAMES_LEVEL 15 // of compression: they are few beside the rows
#endif

struct writing {
    struct event_store *store;
    const struct shard_about *about;
    struct shard_out out;
    int64_t origin_ns; // tick 0, in the file's time
    uint64_t events;
    struct used_names used; // where the shard is of one process of several
};

// --- rows -------------------------------------------------------------------

static int add_row(struct writing *writing, struct lane_frame *frame, const struct row *row,
                   uint64_t depth)
{
    struct row moved = *row;
    int status = writing->used.store ? used_names_add(&writing->used, row) : 0;
    // no row is before the origin, but one may be more than INT64_MAX behind it: ticks have no sign
    moved.start =
        (int64_t)(((uint64_t)row->start - (uint64_t)writing->origin_ns) / writing->store->unit_ns);
    moved.duration = row->duration / writing->store->unit_ns;
    if (!status && lane_frame_is_full(frame))
        status = lane_frame_write(frame, &writing->out.tables);
    if (!status)
        status = shard_out_settle(&writing->out);
    if (status)
        return status;
    lane_frame_add(frame, &moved, depth);
    writing->events += frame->table != TABLE_ASYNC || row->phase == 0;
    return 0;
}

static int write_rows(struct writing *writing, uint32_t track, struct lane_frame *frames)
{
    struct event_store *store = writing->store;
    struct track_merge merge;
    const struct row *row;
    uint32_t lane;
    uint64_t depth;
    int status = track_merge_open(&merge, store, track);
    if (status)
        return status;
    while ((status = track_merge_next(&merge, store, &row, &lane, &depth)) == 1) {
        struct lane_frame *frame = &frames[store->lanes[lane].place];
        if (!frame->memory)
            status = lane_frame_init(frame, store->lanes[lane].table, track + 1,
                                     store->lanes[lane].rows.count);
        else
            status = 0;
        if (!status)
            status = add_row(writing, frame, row, depth);
        if (status)
            break;
    }
    track_merge_close(&merge);
    return status;
}

static int write_track(struct writing *writing, uint32_t track)
{
    struct event_store *store = writing->store;
    const uint32_t first = store->tracks[track].first_lane, last = store->tracks[track].last_lane;
    if (!first)
        return 0;
    struct lane_frame *frames = calloc(store->lanes[last - 1].place + 1, sizeof *frames);
    int status = frames ? 0 : fail(GAIT_ERR_MEMORY, "no memory for frames of events");
    for (uint32_t i = first; !status && i; i = store->lanes[i - 1].next)
        status = row_runs_settle(&store->lanes[i - 1].rows);
    if (!status)
        status = write_rows(writing, track, frames);
    for (uint32_t i = first; frames && i; i = store->lanes[i - 1].next) {
        struct store_lane *lane = &store->lanes[i - 1];
        if (!status && frames[lane->place].memory)
            status = lane_frame_write(&frames[lane->place], &writing->out.tables);
        lane_frame_finish(&frames[lane->place]);
        row_runs_finish(&lane->rows);
        lane->rows = (struct row_runs){.count = 0};
    }
    free(frames);
    return status;
}

// The tracks that the shard is about: number + 1, 0 behind the last. All of the store, or those
// of one process, which stand in a row of their own.
static uint32_t first_track(const struct writing *writing)
{
    return writing->about->track ? writing->about->track : writing->store->track_count != 0;
}

static uint32_t next_track(const struct writing *writing, uint32_t track)
{
    if (writing->about->track)
        return writing->store->tracks[track - 1].next;
    return track < writing->store->track_count ? track + 1 : 0;
}

static int write_tracks(struct writing *writing)
{
    int status = 0;
    for (uint32_t track = first_track(writing); track && !status;
         track = next_track(writing, track))
        status = write_track(writing, track - 1);
    return status;
}

// --- names ------------------------------------------------------------------

// Of `all` names those that the shard has: how many, and the id of one.
static size_t name_count(const struct writing *writing, const struct used_ids *used, size_t all)
{
    return writing->used.store ? used->count : all;
}

static uint32_t name_id(const struct writing *writing, const struct used_ids *used, size_t at)
{
    return writing->used.store ? used->ids[at] : (uint32_t)at + 1;
}

// Up to BATCH_ROWS rows of a table of names, gathered.
struct batch {
    uint64_t numbers[4][BATCH_ROWS];
    struct slice texts[2][BATCH_ROWS];
    uint32_t rows;
    size_t bytes;
};

static int write_names(struct writing *writing, struct batch *batch)
{
    struct table_writer *tables = &writing->out.tables;
    table_begin(tables, TABLE_STRING, 0, batch->rows);
    table_put(tables, COLUMN(STRING, id), TRANSFORM_DELTA, batch->numbers[0]);
    table_put_bytes(tables, COLUMN(STRING, text), batch->texts[0]);
    batch->rows = 0;
    batch->bytes = 0;
    const int status = table_end(tables, &(struct table_about){0}, NULL);
    return status ? status : shard_out_settle(&writing->out);
}

static int write_strings(struct writing *writing, struct batch *batch)
{
    const struct name_index *strings = &writing->store->strings;
    const struct used_ids *used = &writing->used.strings;
    const size_t count = name_count(writing, used, strings->texts.count);
    int status = 0;
    for (size_t i = 0; !status && i < count; i++) {
        const uint32_t id = name_id(writing, used, i);
        batch->numbers[0][batch->rows] = id;
        batch->texts[0][batch->rows++] = name_index_get(strings, id);
        batch->bytes += name_index_get(strings, id).count;
        if (batch->rows == BATCH_ROWS || batch->bytes > BATCH_BYTES)
            status = write_names(writing, batch);
    }
    return !status && batch->rows ? write_names(writing, batch) : status;
}

static int write_sites(struct writing *writing, struct batch *batch)
{
    const struct event_store *store = writing->store;
    struct table_writer *tables = &writing->out.tables;
    const struct used_ids *used = &writing->used.sites;
    const size_t count = name_count(writing, used, store->site_names.texts.count);
    int status = 0;
    for (size_t from = 0; !status && from < count; from += BATCH_ROWS) {
        const size_t rows = count - from < BATCH_ROWS ? count - from : BATCH_ROWS;
        for (size_t i = 0; i < rows; i++) {
            const uint32_t id = name_id(writing, used, from + i);
            batch->numbers[0][i] = id;
            batch->numbers[1][i] = store->sites[id - 1].category;
            batch->numbers[2][i] = store->sites[id - 1].name;
        }
        table_begin(tables, TABLE_SITE, 0, (uint32_t)rows);
        table_put(tables, COLUMN(SITE, id), TRANSFORM_DELTA, batch->numbers[0]);
        table_put(tables, COLUMN(SITE, category), TRANSFORM_NONE, batch->numbers[1]);
        table_put(tables, COLUMN(SITE, name), TRANSFORM_NONE, batch->numbers[2]);
        status = table_end(tables, &(struct table_about){0}, NULL);
    }
    return status;
}

static int write_forms(struct writing *writing, struct batch *batch)
{
    const struct form_table *forms = &writing->store->forms;
    struct table_writer *tables = &writing->out.tables;
    const struct used_ids *used = &writing->used.forms;
    const size_t count = name_count(writing, used, forms->packed.texts.count);
    int status = 0;
    for (size_t at = 0; !status && at < count;) {
        uint32_t rows = 0;
        for (size_t bytes = 0; at < count && rows < BATCH_ROWS && bytes < BATCH_BYTES; at++) {
            const uint32_t id = name_id(writing, used, at);
            batch->numbers[0][rows] = id;
            form_table_bytes(forms, id, &batch->texts[0][rows], &batch->texts[1][rows]);
            bytes += batch->texts[0][rows].count + batch->texts[1][rows].count;
            rows++;
        }
        table_begin(tables, TABLE_FORM, 0, rows);
        table_put(tables, COLUMN(FORM, id), TRANSFORM_DELTA, batch->numbers[0]);
        table_put_bytes(tables, COLUMN(FORM, args), batch->texts[0]);
        table_put_bytes(tables, COLUMN(FORM, fields), batch->texts[1]);
        status = table_end(tables, &(struct table_about){0}, NULL);
        if (!status)
            status = shard_out_settle(&writing->out);
    }
    return status;
}

static void gather_track(const struct event_store *store, uint32_t track, struct batch *batch)
{
    const struct store_track *about = &store->tracks[track];
    const uint32_t at = batch->rows++;
    batch->numbers[0][at] = track + 1;
    batch->numbers[1][at] = about->kind;
    batch->numbers[2][at] = about->parent;
    batch->numbers[3][at] = (uint64_t)about->os_id;
    batch->texts[0][at] = name_index_get(&store->strings, about->key ? about->key : about->process);
    batch->texts[1][at] = name_index_get(&store->strings, about->name);
}

static int write_track_rows(struct writing *writing, struct batch *batch)
{
    const struct event_store *store = writing->store;
    struct table_writer *tables = &writing->out.tables;
    int status = 0;
    for (uint32_t track = first_track(writing); !status && track;) {
        batch->rows = 0;
        for (; track && batch->rows < BATCH_ROWS; track = next_track(writing, track))
            if (store->tracks[track - 1].has_rows)
                gather_track(store, track - 1, batch);
        table_begin(tables, TABLE_TRACK, 0, batch->rows);
        table_put(tables, COLUMN(TRACK, id), TRANSFORM_DELTA, batch->numbers[0]);
        table_put(tables, COLUMN(TRACK, kind), TRANSFORM_NONE, batch->numbers[1]);
        table_put_bytes(tables, COLUMN(TRACK, key), batch->texts[0]);
        table_put_bytes(tables, COLUMN(TRACK, name), batch->texts[1]);
        table_put_constant(tables, COLUMN(TRACK, clock), CLOCK_ID);
        table_put(tables, COLUMN(TRACK, parent), TRANSFORM_NONE, batch->numbers[2]);
        table_put(tables, COLUMN(TRACK, os_id), TRANSFORM_ZIGZAG, batch->numbers[3]);
        status = table_end(tables, &(struct table_about){0}, NULL);
    }
    return status;
}

// Tick 0 in real time; it wraps where a file says such times.
static uint64_t zero_ns(const struct writing *writing)
{
    return (uint64_t)writing->about->base_ns + (uint64_t)writing->origin_ns;
}

// Two ticks tell how long one is. Readers take the later one as a time when the process was
// there: it is the very next tick, so that the last event is what ends the shard.
static int write_clock(struct writing *writing)
{
    struct table_writer *tables = &writing->out.tables;
    const uint64_t zero = zero_ns(writing);
    const uint64_t ticks[] = {0, 1};
    const uint64_t times[] = {zero, zero + writing->store->unit_ns};
    table_begin(tables, TABLE_CLOCK, 0, 2);
    table_put_constant(tables, COLUMN(CLOCK, clock), CLOCK_ID);
    table_put(tables, COLUMN(CLOCK, tick), TRANSFORM_NONE, ticks);
    table_put(tables, COLUMN(CLOCK, raw_ns), TRANSFORM_NONE, times);
    table_put(tables, COLUMN(CLOCK, real_ns), TRANSFORM_NONE, times);
    return table_end(tables, &(struct table_about){0}, NULL);
}

// --- metadata ---------------------------------------------------------------

static int write_meta(struct writing *writing, const char *key, struct slice json)
{
    struct table_writer *tables = &writing->out.tables;
    const struct slice name = slice_of(key);
    table_begin(tables, TABLE_META, 0, 1);
    table_put_bytes(tables, COLUMN(META, key), &name);
    table_put_bytes(tables, COLUMN(META, value), &json);
    return table_end(tables, &(struct table_about){0}, NULL);
}

static int write_meta_number(struct writing *writing, const char *key, int64_t number)
{
    char json[24];
    snprintf(json, sizeof json, "%" PRId64, number);
    return write_meta(writing, key, slice_of(json));
}

static int write_meta_text(struct writing *writing, const char *key, struct slice text)
{
    struct buffer json;
    buffer_init(&json, MOST_JSON);
    int status = utf8_append_json(&json, (const char *)text.bytes, text.count);
    if (!status)
        status = write_meta(writing, key, (struct slice){json.bytes, json.used});
    buffer_finish(&json);
    return status;
}

static int describe_import(const struct writing *writing, struct buffer *json)
{
    const struct shard_about *about = writing->about;
    const char *comma = "";
    int status = buffer_printf(json, "{\"reader\": \"%s\"", about->reader);
    if (!status)
        status = buffer_printf(json, ", \"repairs\": {");
    for (int i = 0; i < REPAIR_COUNT && !status; i++) {
        if (!about->repairs->counts[i])
            continue;
        status = buffer_printf(json, "%s\"%s\": %" PRIu64, comma, repair_key((enum repair)i),
                               about->repairs->counts[i]);
        comma = ", ";
    }
    return status ? status : buffer_printf(json, "}}");
}

static int write_import(struct writing *writing)
{
    struct buffer json;
    buffer_init(&json, MOST_JSON);
    int status = describe_import(writing, &json);
    if (!status)
        status = write_meta(writing, meta.import, (struct slice){json.bytes, json.used});
    buffer_finish(&json);
    return status;
}

// Events that name things, each once, and how often each stood in the file.
static int write_naming(struct writing *writing)
{
    const struct event_store *store = writing->store;
    struct buffer json, counts;
    bool is_repeated = false;
    int status = 0;
    buffer_init(&json, MOST_JSON);
    buffer_init(&counts, MOST_JSON);
    for (uint32_t i = 0; i < store->naming.texts.count && !status; i++) {
        const struct slice one = name_index_get(&store->naming, i + 1);
        if (!store->naming_counts[i])
            continue;
        is_repeated |= store->naming_counts[i] > 1;
        status = buffer_append(&json, json.used ? "," : "[", 1);
        if (!status)
            status = buffer_append(&json, one.bytes, one.count);
        if (!status)
            status = buffer_printf(&counts, "%c%" PRIu32, counts.used ? ',' : '[',
                                   store->naming_counts[i]);
    }
    if (!status && json.used)
        status = buffer_append(&json, "]", 1);
    if (!status && json.used)
        status = write_meta(writing, meta.trace_names, (struct slice){json.bytes, json.used});
    if (!status && is_repeated)
        status = buffer_append(&counts, "]", 1);
    if (!status && is_repeated)
        status =
            write_meta(writing, meta.trace_name_counts, (struct slice){counts.bytes, counts.used});
    buffer_finish(&json);
    buffer_finish(&counts);
    return status;
}

static int write_facts(struct writing *writing)
{
    const struct event_store *store = writing->store;
    size_t left = writing->about->most_copied;
    int status = 0;
    for (size_t i = 0; i < store->fact_count && !status; i++) {
        char key[256];
        if (store->facts[i].json.count > left)
            continue;
        left -= store->facts[i].json.count;
        const struct slice name = name_index_get(&store->strings, store->facts[i].key);
        snprintf(key, sizeof key, "trace.%.*s", (int)(name.count < 200 ? name.count : 200),
                 (const char *)name.bytes);
        const struct slice json = store->facts[i].json;
        status = json_is_valid(json) ? write_meta(writing, key, json)
                                     : write_meta_text(writing, key, json);
    }
    return status;
}

static int write_owned(struct writing *writing, const struct ingest_devices *devices)
{
    char host[HOST_NAME_MAX + 1] = "";
    int status = write_meta_number(writing, meta.format_version, FRAME_VERSION);
    if (!status && !gethostname(host, sizeof host - 1))
        status = write_meta_text(writing, meta.host, slice_of(host));
    if (!status)
        status = write_meta_number(writing, meta.pid, devices->pid);
    if (!status && devices->rank >= 0)
        status = write_meta_number(writing, meta.rank, devices->rank);
    if (!status)
        status = write_meta_number(writing, meta.start_ns, devices->since_ns);
    if (!status)
        status = write_meta_number(writing, meta.devices_until_ns, devices->until_ns);
    if (!status)
        status = write_meta_text(writing, meta.role, slice_of("devices"));
    if (!status)
        status = write_meta_text(writing, meta.devices_of, slice_of(devices->owner));
    return status ? status : write_facts(writing);
}

static int write_who(struct writing *writing)
{
    const struct shard_about *about = writing->about;
    if (about->devices)
        return write_owned(writing, about->devices);
    int status = write_meta_number(writing, meta.format_version, FRAME_VERSION);
    if (!status && about->host)
        status = write_meta_text(writing, meta.host, slice_of(about->host));
    if (!status)
        status = write_meta_number(writing, meta.pid, about->pid);
    if (!status && about->rank >= 0)
        status = write_meta_number(writing, meta.rank, about->rank);
    if (!status)
        status = write_meta_number(writing, meta.start_ns, (int64_t)zero_ns(writing));
    if (!status)
        status = write_meta_text(writing, meta.role, slice_of("program"));
    if (!status)
        status = write_meta_number(writing, meta.import_base_ns, about->base_ns);
    if (!status)
        status = write_meta_text(writing, meta.source, slice_of(about->file));
    if (!status)
        status = write_import(writing);
    if (!status && writing->store->naming_bytes <= about->most_copied)
        status = write_naming(writing);
    return status ? status : write_facts(writing);
}

static int write_dictionary(struct writing *writing)
{
    struct batch *batch = calloc(1, sizeof *batch);
    if (!batch)
        return fail(GAIT_ERR_MEMORY, "no memory for the names of a trace");
    used_names_sort(&writing->used);
    int status = write_strings(writing, batch);
    if (!status)
        status = write_sites(writing, batch);
    if (!status)
        status = write_forms(writing, batch);
    if (!status)
        status = write_track_rows(writing, batch);
    free(batch);
    return status;
}

static int write_all(struct writing *writing)
{
    int status = table_write_schema_foreign(&writing->out.tables);
    if (!status && writing->about->track)
        status = used_names_init(&writing->used, writing->store);
    if (!status)
        status = write_who(writing);
    if (!status)
        status = write_clock(writing);
    if (!status)
        status = write_tracks(writing);
    if (!status)
        status = table_writer_set_level(&writing->out.tables, NAMES_LEVEL);
    if (!status)
        status = write_dictionary(writing);
    return status ? status : shard_out_seal(&writing->out);
}

int shard_write(struct event_store *store, const struct shard_about *about,
                struct shard_written *ret_written)
{
    struct writing writing = {.store = store, .about = about};
    if (store->first_ns <= store->last_ns)
        writing.origin_ns = store->first_ns;
    int status = about->path ? shard_out_open_path(&writing.out, about->path)
                             : shard_out_open_memory(&writing.out);
    if (status)
        return status;
    status = write_all(&writing);
    used_names_finish(&writing.used);
    if (status && about->path)
        shard_out_remove(&writing.out);
    else if (status)
        shard_out_finish(&writing.out);
    if (status)
        return status;
    if (!about->path) {
        *about->memory = writing.out.memory;
        buffer_init(&writing.out.memory, 0);
    }
    *ret_written = (struct shard_written){writing.events, writing.out.bytes + FRAME_TRAILER_BYTES};
    shard_out_finish(&writing.out);
    return 0;
}
