// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "shard/small_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/invariant.h"
#include "base/utf8.h"
#include "format/frame.h"
#include "vocabulary/metadata.h"

#define ENTRIES_LIMIT ((size_t)256 << 20)
#define TEXT_LIMIT ((size_t)8 << 20)

void small_rows_init(struct small_rows *rows)
{
    *rows = (struct small_rows){.status = 0};
    buffer_init(&rows->entries, ENTRIES_LIMIT);
}

void small_rows_finish(struct small_rows *rows)
{
    if (rows)
        buffer_finish(&rows->entries);
}

void small_rows_add(struct small_rows *rows, const struct journal_row *row)
{
    const size_t bytes = journal_row_bytes(row);
    if (rows->status)
        return;
    uint8_t *room = buffer_reserve(&rows->entries, bytes);
    if (!room) {
        rows->status = fail(GAIT_ERR_MEMORY, "no memory for the names of a shard");
        return;
    }
    journal_row_write(row, room);
    rows->entries.used += bytes;
    GAIT_ASSERT(rows->entries.used <= rows->entries.capacity);
}

void small_rows_meta(struct small_rows *rows, const char *key, const char *json)
{
    if (!json)
        return;
    const struct journal_row row = {
        .table = TABLE_META, .text_count = 2, .texts = {slice_of(key), slice_of(json)}};
    small_rows_add(rows, &row);
}

void small_rows_meta_number(struct small_rows *rows, const char *key, int64_t number)
{
    char json[24];
    snprintf(json, sizeof json, "%" PRId64, number);
    small_rows_meta(rows, key, json);
}

void small_rows_meta_text(struct small_rows *rows, const char *key, const char *text)
{
    struct buffer json;
    buffer_init(&json, TEXT_LIMIT);
    int status = utf8_append_json(&json, text, strlen(text));
    if (!status)
        status = buffer_append(&json, "", 1);
    if (!status)
        small_rows_meta(rows, key, (const char *)json.bytes);
    else if (!rows->status)
        rows->status = status;
    buffer_finish(&json);
}

void small_rows_who(struct small_rows *rows, const char *role, int64_t start_ns)
{
    char host[65] = "", session[33] = "";
    uint8_t random[16] = {0};
    const char *run = getenv("GAIT_RUN_ID");
    gethostname(host, sizeof host - 1);
    if (getrandom(random, sizeof random, GRND_NONBLOCK) < 0)
        memcpy(random, &start_ns, sizeof start_ns);
    for (int i = 0; i < 16; i++)
        snprintf(session + 2 * i, 3, "%02x", random[i]);
    small_rows_meta_number(rows, meta.format_version, FRAME_VERSION);
    small_rows_meta_text(rows, meta.host, host);
    small_rows_meta_number(rows, meta.pid, getpid());
    small_rows_meta_number(rows, meta.start_ns, start_ns);
    small_rows_meta_text(rows, meta.role, role);
    small_rows_meta_text(rows, meta.run_id, run ? run : session);
    small_rows_meta_text(rows, meta.session, session);
}

void small_rows_string(struct small_rows *rows, uint64_t id, const char *text)
{
    const struct journal_row row = {.table = TABLE_STRING,
                                    .number_count = 1,
                                    .text_count = 1,
                                    .numbers = {id},
                                    .texts = {slice_of(text)}};
    small_rows_add(rows, &row);
}

void small_rows_track(struct small_rows *rows, const struct small_track *track)
{
    const struct journal_row row = {.table = TABLE_TRACK,
                                    .number_count = 6,
                                    .text_count = 2,
                                    .numbers = {track->id, track->kind, track->clock, track->parent,
                                                track->os_id, track->is_internal},
                                    .texts = {slice_of(track->key), slice_of(track->name)}};
    small_rows_add(rows, &row);
}

void small_rows_anchor(struct small_rows *rows, uint64_t clock, const struct clock_anchor *anchor)
{
    const struct journal_row row = {.table = TABLE_CLOCK,
                                    .number_count = 5,
                                    .numbers = {clock, anchor->tick, (uint64_t)anchor->raw_ns,
                                                (uint64_t)anchor->real_ns, anchor->error_ns}};
    small_rows_add(rows, &row);
}

int small_rows_write(struct small_rows *rows, struct table_writer *tables)
{
    const struct slice entries = {rows->entries.bytes, rows->entries.used};
    int status = rows->status;
    if (!status && entries.count)
        status = journal_write_frames(entries, tables);
    rows->entries.used = 0;
    rows->status = 0;
    return status;
}
