// SPDX-License-Identifier: Apache-2.0
// The file beside a shard that holds sums of its spans. Spans come through the
// merge, in order of start; rows leave in frames of one track. The file is
// written under another name and takes its own when it is whole.
#define _GNU_SOURCE
#include "load/detail/lod.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fail.h"
#include "base/json_reader.h"
#include "base/own_file.h"
#include "format/columns.h"
#include "load/detail/lod_sums.h"
#include "load/order/merge.h"
#include "shard/shard_out.h"
#include "shard/small_rows.h"
#include "vocabulary/metadata.h"

#define PATH_LIMIT 65536
#define ROWS_A_FRAME 4096

struct lod {
    struct run run; // the one shard
    const struct run_shard *shard;
    struct shard_out output;
    struct lod_track *tracks; // by number in the run
    struct small_rows names;
    struct lod_result result;
};

// --- names ---------------------------------------------------------------------

static void add_metas(struct lod *lod)
{
    const struct dictionary *dictionary = &lod->shard->dictionary;
    small_rows_meta_number(&lod->names, meta.indexed_bytes, (int64_t)lod->shard->info.bytes);
    small_rows_meta(&lod->names, meta.session, dictionary_meta(dictionary, meta.session));
    small_rows_meta(&lod->names, meta.tick_hz, dictionary_meta(dictionary, meta.tick_hz));
}

// Strings of a site take the three ids behind 3 × its number.
static void add_site(struct lod *lod, uint32_t number)
{
    const struct gait_site_info *site = &lod->run.sites.sites[number];
    const char *texts[3] = {site->category, site->name, site->file};
    struct journal_row row = {TABLE_SITE, 5, 0, {number, 0, 0, 0, site->line}, {{0}}};
    for (uint64_t i = 0; i < 3; i++) {
        if (!*texts[i])
            continue;
        row.numbers[i + 1] = (uint64_t)number * 3 + i + 1;
        small_rows_string(&lod->names, row.numbers[i + 1], texts[i]);
    }
    small_rows_add(&lod->names, &row);
}

static void add_track(struct lod *lod, const struct track *track)
{
    const struct small_track row = {.id = track->id,
                                    .kind = track->info.kind,
                                    .clock = track->clock,
                                    .os_id = (uint64_t)track->info.tid,
                                    .is_internal = track->info.internal,
                                    .key = track->info.key,
                                    .name = track->info.name};
    small_rows_track(&lod->names, &row);
}

// The anchors that count, on one time line: they give the same map again.
static void add_clock(struct lod *lod, const struct dictionary_clock *clock)
{
    for (size_t i = 0; i < clock->map.segment_count; i++) {
        const struct clock_segment *segment = &clock->map.segments[i];
        const struct clock_anchor anchor = {
            .tick = segment->tick, .raw_ns = segment->base_ns, .real_ns = segment->base_ns};
        small_rows_anchor(&lod->names, clock->id, &anchor);
    }
}

static int put_names(struct lod *lod)
{
    const struct dictionary *dictionary = &lod->shard->dictionary;
    int status = table_write_schema(&lod->output.tables);
    add_metas(lod);
    for (uint32_t i = 1; i < lod->run.sites.count; i++)
        add_site(lod, i);
    for (size_t i = 0; i < lod->run.tracks.count; i++)
        add_track(lod, &lod->run.tracks.tracks[i]);
    for (size_t i = 0; i < dictionary->clock_count; i++)
        add_clock(lod, &dictionary->clocks[i]);
    if (!status)
        status = small_rows_write(&lod->names, &lod->output.tables);
    return status ? status : shard_out_settle(&lod->output);
}

// --- rows ----------------------------------------------------------------------

static int compare_rows(const void *left, const void *right)
{
    const struct lod_row *a = left;
    const struct lod_row *b = right;

    ARRAY_ORDER(a->level, b->level);
    ARRAY_ORDER(a->depth, b->depth);
    return a->start < b->start ? -1 : a->start > b->start;
}

static uint64_t column_of(const struct lod_row *row, int column)
{
    const uint64_t columns[COLUMN_COUNT(LOD)] = {row->level, row->start, row->end - row->start,
                                                 row->count, row->busy,  row->longest,
                                                 row->site,  row->depth};

    return columns[column];
}

static int put_frame(struct lod *lod, uint32_t track, const struct lod_row *rows, uint32_t count)
{
    struct table_writer *writer = &lod->output.tables;
    struct table_about about = {.first = UINT64_MAX};
    uint64_t values[ROWS_A_FRAME];

    table_begin(writer, TABLE_LOD, track, count);
    for (int column = 0; column < COLUMN_COUNT(LOD); column++) {
        for (uint32_t i = 0; i < count; i++)
            values[i] = column_of(&rows[i], column);
        table_put(writer, (uint16_t)column,
                  column == COLUMN(LOD, start) ? TRANSFORM_DELTA : TRANSFORM_NONE, values);
    }
    for (uint32_t i = 0; i < count; i++) {
        about.first = rows[i].start < about.first ? rows[i].start : about.first;
        about.last = rows[i].end > about.last ? rows[i].end : about.last;
    }
    int status = table_end(writer, &about, NULL);
    return status ? status : shard_out_settle(&lod->output);
}

static int put_rows(struct lod *lod, uint32_t number)
{
    struct lod_track *track = &lod->tracks[number];
    uint32_t id = lod->run.tracks.tracks[number].id;
    int status = 0;

    ARRAY_SORT(track->rows, track->row_count, compare_rows);
    for (size_t i = 0; !status && i < track->row_count; i += ROWS_A_FRAME) {
        size_t left = track->row_count - i;

        status = put_frame(lod, id, track->rows + i,
                           (uint32_t)(left < ROWS_A_FRAME ? left : ROWS_A_FRAME));
    }
    lod->result.rows += track->row_count;
    track->row_count = 0;
    return status;
}

static int add_span(struct lod *lod, const struct merge_row *row)
{
    const struct event_frame *frame = row->frame;
    uint64_t start = frame->numbers[ROLE_START][row->row];
    uint64_t duration = frame->numbers[ROLE_DURATION][row->row];
    uint64_t depth = frame->numbers[ROLE_DEPTH][row->row];
    struct lod_row span = {
        .start = start,
        .end = duration > UINT64_MAX - start ? UINT64_MAX : start + duration,
        .count = 1,
        .busy = duration,
        .longest = duration,
        .site = (uint32_t)frame->numbers[ROLE_SITE][row->row],
        .depth = (uint16_t)(depth < LOD_SUMS_MAX_DEPTH ? depth : LOD_SUMS_MAX_DEPTH),
    };
    int status = lod_sums_add(&lod->tracks[frame->track], &span);

    lod->result.spans++;
    if (status || lod->tracks[frame->track].row_count < ROWS_A_FRAME)
        return status;
    return put_rows(lod, frame->track);
}

static int put_sums(struct lod *lod)
{
    struct merge_choice choice = {.kinds = 1u << GAIT_KIND_SPAN};
    struct merge_row row;
    struct merge merge;
    int status = merge_open(&merge, &lod->run, &choice);
    int got = 0;

    if (status)
        return status;
    while (!status && (got = merge_next(&merge, &row)) == 1)
        status = row.open ? 0 : add_span(lod, &row);
    merge_close(&merge);
    if (!status)
        status = got;
    for (uint32_t i = 0; !status && i < lod->run.tracks.count; i++) {
        status = lod_sums_end(&lod->tracks[i]);
        if (!status)
            status = put_rows(lod, i);
    }
    return status;
}

// --- the file ------------------------------------------------------------------

static int write_file(struct lod *lod, const struct own_file *file)
{
    int status = shard_out_open_end(&lod->output, file->fd, file->name, 0);

    if (!status)
        status = put_names(lod);
    if (!status)
        status = put_sums(lod);
    if (!status)
        status = shard_out_seal(&lod->output);
    lod->result.bytes = lod->output.bytes;
    shard_out_finish(&lod->output);
    return status;
}

static int replace_file(struct lod *lod, const char *path)
{
    struct own_file file;
    int status = own_file_begin(&file, path);

    if (status)
        return status;
    status = write_file(lod, &file);
    if (!status)
        return own_file_keep(&file);
    own_file_drop(&file);
    return status;
}

static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

// Whether the index at `path` was made from the shard as it is now.
static int look_at_index(struct lod *lod, const char *path, bool *ret_is_current)
{
    struct run index;

    *ret_is_current = false;
    if (access(path, R_OK))
        return 0;
    int status = run_open(&index, path);
    if (status)
        return status == GAIT_ERR_MEMORY ? status : 0;
    const struct dictionary *dictionary = &index.shards[0]->dictionary;
    *ret_is_current = index.shards[0]->info.complete && !index.damage.count &&
                      json_integer(dictionary_meta(dictionary, meta.indexed_bytes), -1) ==
                          (int64_t)lod->shard->info.bytes &&
                      is_same(dictionary_meta(dictionary, meta.session),
                              dictionary_meta(&lod->shard->dictionary, meta.session));
    lod->result.bytes = index.shards[0]->info.bytes;
    run_close(&index);
    return 0;
}

static int write_index(struct lod *lod, const char *path, bool is_forced)
{
    struct buffer index_path;

    buffer_init(&index_path, PATH_LIMIT);
    int status = buffer_printf(&index_path, "%s-index", path);
    if (!status)
        status = buffer_append(&index_path, "", 1);
    if (!status && !is_forced)
        status = look_at_index(lod, (const char *)index_path.bytes, &lod->result.was_up_to_date);
    if (!status && !lod->result.was_up_to_date)
        status = replace_file(lod, (const char *)index_path.bytes);
    buffer_finish(&index_path);
    return status;
}

static int sum_up(struct lod *lod, const char *path, bool is_forced)
{
    lod->shard = lod->run.shards[0];
    if (lod->shard->shard.is_live)
        return fail(GAIT_ERR_STATE, "the process that writes '%s' is still running", path);
    small_rows_init(&lod->names);
    lod->tracks = calloc(lod->run.tracks.count + 1, sizeof(*lod->tracks));
    if (!lod->tracks)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu tracks", lod->run.tracks.count);
    int status = write_index(lod, path, is_forced);
    for (size_t i = 0; i < lod->run.tracks.count; i++)
        lod_sums_finish(&lod->tracks[i]);
    free(lod->tracks);
    small_rows_finish(&lod->names);
    return status;
}

int lod_write(const char *path, bool is_forced, struct lod_result *ret_result)
{
    struct lod lod = {.shard = NULL};
    int status = run_open(&lod.run, path);

    if (status)
        return status;
    status = sum_up(&lod, path, is_forced);
    run_close(&lod.run);
    if (!status)
        *ret_result = lod.result;
    return status;
}
