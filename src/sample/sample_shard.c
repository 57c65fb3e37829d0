// SPDX-License-Identifier: Apache-2.0
// A frame of rows costs some hundred bytes, so a quiet thread's rows wait longer
// than a busy one's.
#define _GNU_SOURCE
#include "sample/sample_shard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gait/trace.h>

#include "base/array.h"
#include "base/fail.h"
#include "base/index/hash_index.h"
#include "format/columns.h"
#include "vocabulary/metadata.h"

#define BUSY_NS (1000 * UINT64_C(1000000))
#define QUIET_NS (4000 * UINT64_C(1000000))
#define BUSY_ROWS 16u
#define BATCH_ROWS 4096u
#define FIRST_STRINGS 4096u
#define STRING_LIMIT ((size_t)1 << 24)
#define CLOCK_ID 1u
#define MOST_WAITING_BYTES ((size_t)8 << 20) // that a disk did not take; some hours of samples
#define FIRST_ID ((uint32_t)FRAME_KINDS)     // of texts of the tree; below: categories by kind

static void note(struct sample_shard *shard, int status)
{
    if (status && !shard->status) {
        shard->status = status;
        snprintf(shard->why, sizeof shard->why, "%s", fail_text());
    }
}

// All that this process does is for the samples.
static void put_cost(struct sample_shard *shard)
{
    struct timespec used = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    const uint64_t cpu_ns = (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
    const struct journal_row row = {
        TABLE_COST, 3, 0, {clock_now(), cpu_ns, shard->writer.bytes}, {{0}}};
    small_rows_add(&shard->rows, &row);
}

int sample_shard_open(struct sample_shard *shard, const char *path, struct stack_trie *trie)
{
    memset(shard, 0, sizeof *shard);
    shard->trie = trie;
    shard->sites_told = shard->nodes_told = 1;
    int status = shard_out_open_path(&shard->writer, path);
    if (status) {
        memset(shard, 0, sizeof *shard);
        return status;
    }
    shard->writer.keeps_batch = true;
    small_rows_init(&shard->rows);
    clock_setup();
    shard->first_anchor = clock_read_anchor();
    note(shard, table_write_schema(&shard->writer.tables));
    small_rows_anchor(&shard->rows, CLOCK_ID, &shard->first_anchor);
    small_rows_who(&shard->rows, meta.sampler, shard->first_anchor.real_ns);
    for (enum frame_kind kind = FRAME_NONE + 1; kind < FRAME_KINDS; kind++)
        small_rows_string(&shard->rows, kind, frame_category(kind));
    note(shard, small_rows_write(&shard->rows, &shard->writer.tables));
    note(shard, shard_out_put(&shard->writer));
    status = shard->status;
    if (status) {
        shard_out_remove(&shard->writer);
        memset(&shard->writer, 0, sizeof shard->writer);
        shard->writer.file.fd = -1;
        sample_shard_finish(shard);
    }
    return status;
}

void sample_shard_finish(struct sample_shard *shard)
{
    if (!shard->trie)
        return;
    while (shard->tracks) {
        struct sample_track *next = shard->tracks->next;
        free(shard->tracks);
        shard->tracks = next;
    }
    free(shard->strings);
    hash_index_finish(&shard->string_index);
    small_rows_finish(&shard->rows);
    shard_out_finish(&shard->writer);
    memset(shard, 0, sizeof *shard);
}

void sample_shard_tell(struct sample_shard *shard, const struct sample_shard_about *about)
{
    small_rows_meta_number(&shard->rows, meta.subject_pid, about->pid);
    small_rows_meta_text(&shard->rows, meta.program, about->program);
}

void sample_shard_name(struct sample_shard *shard, struct sample_track *track, const char *name)
{
    char key[24];
    snprintf(key, sizeof key, "%" PRId64, track->os_id);
    const struct small_track row = {.id = track->id,
                                    .kind = track->parent ? GAIT_TRACK_THREAD : GAIT_TRACK_PROCESS,
                                    .clock = CLOCK_ID,
                                    .parent = track->parent,
                                    .os_id = (uint64_t)track->os_id,
                                    .key = key,
                                    .name = name};
    small_rows_track(&shard->rows, &row);
}

struct sample_track *sample_shard_track(struct sample_shard *shard,
                                        const struct sample_track_about *about)
{
    struct sample_track *track = calloc(1, sizeof *track);
    if (!track)
        return NULL;
    track->id = ++shard->track_count;
    track->parent = about->parent;
    track->os_id = about->os_id;
    track->next = shard->tracks;
    shard->tracks = track;
    sample_shard_name(shard, track, about->name);
    return track;
}

// Texts of the tree are held once, so their addresses stand for them.
static uint32_t string_of(struct sample_shard *shard, const char *text)
{
    struct hash_index *index = &shard->string_index;
    const uint32_t hash = (uint32_t)hash_mix(0, (uintptr_t)text);
    if (!*text)
        return 0;
    int status = hash_index_reserve(index, FIRST_STRINGS);
    if (status == 0)
        status = ARRAY_RESERVE(shard->strings, shard->string_room, shard->string_count + 1,
                               STRING_LIMIT);
    if (status) {
        fail_clear(); // a recording without some names is one
        return 0;
    }
    size_t at = hash_index_first(index, hash);
    while (index->places[at].row && shard->strings[index->places[at].row - 1] != text)
        at = hash_index_next(index, at);
    if (!index->places[at].row) {
        hash_index_put(index, at, hash, (uint32_t)shard->string_count);
        small_rows_string(&shard->rows, FIRST_ID + (uint32_t)shard->string_count, text);
        shard->strings[shard->string_count++] = text;
    }
    return FIRST_ID + index->places[at].row - 1;
}

void sample_shard_site(struct sample_shard *shard, uint32_t site)
{
    if (site >= shard->sites_told)
        return; // it will be told under its new name
    const struct frame_site *told = &shard->trie->sites[site];
    const uint32_t name = string_of(shard, told->name);
    const struct journal_row row = {
        TABLE_SITE, 5, 0, {site, stack_trie_kind(told), name, 0, 0}, {{0}}};
    small_rows_add(&shard->rows, &row);
}

static void tell_sites(struct sample_shard *shard)
{
    struct table_writer *tables = &shard->writer.tables;
    enum { COLUMNS = COLUMN_COUNT(SITE), BATCH = 256 };
    while (shard->sites_told < shard->trie->site_count) {
        uint64_t columns[COLUMNS][BATCH];
        uint32_t count = 0;
        for (; count < BATCH && shard->sites_told < shard->trie->site_count; count++) {
            const struct frame_site *site = &shard->trie->sites[shard->sites_told];
            columns[COLUMN(SITE, id)][count] = shard->sites_told++;
            columns[COLUMN(SITE, category)][count] = stack_trie_kind(site);
            columns[COLUMN(SITE, name)][count] = string_of(shard, site->name);
            columns[COLUMN(SITE, file)][count] = string_of(shard, site->file);
            columns[COLUMN(SITE, line)][count] = site->line > 0 ? (uint64_t)site->line : 0;
        }
        table_begin(tables, TABLE_SITE, 0, count);
        for (unsigned column = 0; column < COLUMNS; column++)
            table_put(tables, (uint16_t)column, column ? TRANSFORM_NONE : TRANSFORM_RISE,
                      columns[column]);
        note(shard, table_end(tables, &(struct table_about){0}, NULL));
    }
}

static void tell_stacks(struct sample_shard *shard)
{
    struct table_writer *tables = &shard->writer.tables;
    enum { COLUMNS = COLUMN_COUNT(STACK), BATCH = 1024 };
    while (shard->nodes_told < shard->trie->node_count) {
        uint64_t columns[COLUMNS][BATCH];
        uint32_t count = 0;
        for (; count < BATCH && shard->nodes_told < shard->trie->node_count; count++) {
            const struct stack_node *node = &shard->trie->nodes[shard->nodes_told];
            columns[COLUMN(STACK, id)][count] = shard->nodes_told++;
            columns[COLUMN(STACK, parent)][count] = node->parent;
            columns[COLUMN(STACK, site)][count] = node->site;
            columns[COLUMN(STACK, line)][count] = node->line > 0 ? (uint64_t)node->line : 0;
        }
        table_begin(tables, TABLE_STACK, 0, count);
        for (unsigned column = 0; column < COLUMNS; column++)
            table_put(tables, (uint16_t)column, column ? TRANSFORM_NONE : TRANSFORM_RISE,
                      columns[column]);
        note(shard, table_end(tables, &(struct table_about){0}, NULL));
    }
}

static void write_track(struct sample_shard *shard, struct sample_track *track)
{
    struct table_writer *tables = &shard->writer.tables;
    if (!track->count)
        return;
    const struct table_about about = {track->starts[0], track->starts[track->count - 1],
                                      track->count};
    table_begin(tables, TABLE_SAMPLE, track->id, track->count);
    table_count_from(tables, track->starts[0]);
    table_put(tables, COLUMN(SAMPLE, start), TRANSFORM_CLIMB, track->starts);
    table_put(tables, COLUMN(SAMPLE, stack), TRANSFORM_NONE, track->stacks);
    table_put(tables, COLUMN(SAMPLE, weight), TRANSFORM_NONE, track->weights);
    table_put(tables, COLUMN(SAMPLE, state), TRANSFORM_NONE, track->states);
    note(shard, table_end(tables, &about, NULL));
    track->count = 0;
}

static void write_batch(struct sample_shard *shard)
{
    note(shard, small_rows_write(&shard->rows, &shard->writer.tables));
    const int status = shard_out_put(&shard->writer);
    if (status && shard->writer.batch.used < MOST_WAITING_BYTES)
        fail_clear(); // the disk may have room by the next time, or at the end
    else
        note(shard, status);
    if (status == 0 && index_writer_is_due(&shard->writer.index)) {
        note(shard, index_writer_write(&shard->writer.index, &shard->writer.tables));
        note(shard, shard_out_put(&shard->writer));
    }
}

void sample_shard_put(struct sample_shard *shard, struct sample_track *track,
                      const struct sample_row *row)
{
    if (shard->status) {
        shard->lost++;
        return;
    }
    if (track->count == SAMPLE_ROWS) {
        tell_sites(shard);
        tell_stacks(shard);
        write_track(shard, track);
        if (shard->writer.batch.used > 1u << 20)
            write_batch(shard);
    }
    const uint32_t at = track->count++;
    const uint64_t before = at ? track->starts[at - 1] : 0;
    track->starts[at] = row->tick > before ? row->tick : before; // in order, whatever the clock
    track->stacks[at] = row->node;
    track->weights[at] = row->weight;
    track->states[at] = row->state;
}

// Few rows are those of a thread that does the same all the time. They may wait if
// it does so too, and its first ones are in the file.
static uint64_t pause_of(const struct sample_track *track)
{
    const uint64_t state = track->states[track->count - 1];
    const bool is_quiet =
        track->is_written && track->count < BUSY_ROWS && sample_word_state(state) == SAMPLE_BLOCKED;
    return is_quiet ? QUIET_NS : BUSY_NS;
}

void sample_shard_flush(struct sample_shard *shard, uint64_t now_ns, bool is_all,
                        const char *summary)
{
    if (shard->status)
        return;
    tell_sites(shard);
    tell_stacks(shard);
    for (struct sample_track *track = shard->tracks; track; track = track->next) {
        if (!track->count)
            continue;
        if (!track->begun_ns)
            track->begun_ns = now_ns;
        if (!is_all && now_ns - track->begun_ns < pause_of(track))
            continue;
        write_track(shard, track);
        track->is_written = true;
        track->begun_ns = 0;
    }
    if (summary) {
        small_rows_meta(&shard->rows, meta.sampler, summary);
        put_cost(shard);
    }
    const struct clock_anchor anchor = clock_read_anchor();
    small_rows_anchor(&shard->rows, CLOCK_ID, &anchor);
    if (is_all)
        small_rows_meta_number(&shard->rows, meta.tick_hz,
                               (int64_t)clock_tick_hz(&shard->first_anchor, &anchor));
    write_batch(shard);
}

int sample_shard_seal(struct sample_shard *shard)
{
    if (!shard->status)
        note(shard, shard_out_seal(&shard->writer));
    if (shard->status)
        return fail(shard->status, "%s; what was written before stays readable", shard->why);
    return 0;
}
