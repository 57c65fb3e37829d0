// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "meter/meter_shard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gait/trace.h>

#include "base/fail.h"
#include "format/columns.h"
#include "vocabulary/metadata.h"

enum { CLOCK_ID = 1, CATEGORY_ID = 1, FIRST_SITE = 1 }; // sites have the number of the meter + 1

static void note(struct meter_shard *shard, int status)
{
    if (status && !shard->status) {
        shard->status = status;
        snprintf(shard->why, sizeof shard->why, "%s", fail_text());
    }
}

static void put_who(struct meter_shard *shard, const struct meter_shard_about *about)
{
    const char *invocation = getenv("GAIT_INVOCATION");
    small_rows_who(&shard->rows, METER_ROLE, shard->first_anchor.real_ns);
    small_rows_meta_number(&shard->rows, meta.subject_pid, about->subject_pid);
    if (invocation && *invocation)
        small_rows_meta_text(&shard->rows, meta.invocation, invocation);
}

static void put_sites(struct meter_shard *shard)
{
    small_rows_string(&shard->rows, CATEGORY_ID, METER_CATEGORY);
    for (uint64_t i = 0; i < METER_COUNT; i++) {
        const uint64_t name = CATEGORY_ID + 1 + i;
        const struct journal_row site = {
            TABLE_SITE, COLUMN_COUNT(SITE), 0, {FIRST_SITE + i, CATEGORY_ID, name, 0, 0}, {{0}}};
        small_rows_string(&shard->rows, name, meter_names[i]);
        small_rows_add(&shard->rows, &site);
    }
}

static int begin(struct meter_shard *shard, const struct meter_shard_about *about)
{
    small_rows_init(&shard->rows);
    clock_setup();
    shard->first_anchor = clock_read_anchor();
    int status = table_write_schema(&shard->writer.tables);
    small_rows_anchor(&shard->rows, CLOCK_ID, &shard->first_anchor);
    put_who(shard, about);
    put_sites(shard);
    if (!status)
        status = small_rows_write(&shard->rows, &shard->writer.tables);
    return status ? status : shard_out_put(&shard->writer);
}

int meter_shard_open(struct meter_shard *shard, const struct meter_shard_about *about)
{
    memset(shard, 0, sizeof *shard);
    shard->tracks = calloc(METER_MOST_DEVICES, sizeof *shard->tracks);
    if (!shard->tracks)
        return fail(GAIT_ERR_MEMORY, "no memory for the readings of devices");
    int status = shard_out_open_path(&shard->writer, about->path);
    if (status) {
        free(shard->tracks);
        memset(shard, 0, sizeof *shard);
        return status;
    }
    status = begin(shard, about);
    shard->is_open = true;
    if (status) {
        shard->status = status;
        status = meter_shard_close(shard, false); // the first failure, again
    }
    return status;
}

static void tell_device(struct meter_shard *shard, const struct metered *device, size_t at)
{
    const struct small_track row = {.id = at + 1,
                                    .kind = GAIT_TRACK_COUNTER,
                                    .clock = CLOCK_ID,
                                    .key = device->key,
                                    .name = device->name};
    small_rows_track(&shard->rows, &row);
    shard->tracks[at].is_told = true;
    meter_shard_put(shard, device, at, &device->facts);
}

static void write_track(struct meter_shard *shard, size_t at)
{
    struct meter_track *track = &shard->tracks[at];
    struct table_writer *tables = &shard->writer.tables;
    if (!track->count)
        return;
    const struct table_about about = {track->starts[0], track->starts[track->count - 1],
                                      track->count};
    table_begin(tables, TABLE_COUNTER, (uint32_t)at + 1, track->count);
    table_count_from(tables, track->starts[0]);
    table_put(tables, COLUMN(COUNTER, start), TRANSFORM_CLIMB, track->starts);
    table_put(tables, COLUMN(COUNTER, site), TRANSFORM_NONE, track->sites);
    table_put(tables, COLUMN(COUNTER, value), TRANSFORM_ZIGZAG, track->values);
    note(shard, table_end(tables, &about, NULL));
    track->count = 0;
}

static void write_batch(struct meter_shard *shard)
{
    note(shard, small_rows_write(&shard->rows, &shard->writer.tables));
    for (size_t at = 0; at < METER_MOST_DEVICES; at++)
        write_track(shard, at);
    const int status = shard_out_put(&shard->writer);
    note(shard, status);
    if (status == GAIT_OK && index_writer_is_due(&shard->writer.index)) {
        note(shard, index_writer_write(&shard->writer.index, &shard->writer.tables));
        note(shard, shard_out_put(&shard->writer));
    }
}

void meter_shard_put(struct meter_shard *shard, const struct metered *device, size_t at,
                     const struct meter_look *look)
{
    struct meter_track *track = &shard->tracks[at];
    if (shard->status)
        return;
    if (!track->is_told)
        tell_device(shard, device, at);
    if (track->count + METER_COUNT > METER_ROWS)
        write_batch(shard);
    const uint64_t now = clock_now();
    for (uint64_t i = 0; i < METER_COUNT; i++) {
        if (!(look->has >> i & 1))
            continue;
        const uint64_t before = track->count ? track->starts[track->count - 1] : 0;
        track->starts[track->count] = now > before ? now : before; // in order, whatever the clock
        track->sites[track->count] = FIRST_SITE + i;
        track->values[track->count++] = (uint64_t)look->values[i];
        shard->readings++;
    }
}

void meter_shard_flush(struct meter_shard *shard, const char *about, uint64_t cpu_ns)
{
    if (shard->status || !shard->is_open)
        return;
    const struct clock_anchor anchor = clock_read_anchor();
    small_rows_anchor(&shard->rows, CLOCK_ID, &anchor);
    if (about) {
        const struct journal_row cost = {
            TABLE_COST, 3, 0, {clock_now(), cpu_ns, shard->writer.bytes}, {{0}}};
        small_rows_meta(&shard->rows, meta.meter, about);
        small_rows_add(&shard->rows, &cost);
        small_rows_meta_number(&shard->rows, meta.tick_hz,
                               (int64_t)clock_tick_hz(&shard->first_anchor, &anchor));
    }
    write_batch(shard);
}

int meter_shard_close(struct meter_shard *shard, bool is_kept)
{
    if (!shard->is_open)
        return GAIT_OK;
    if (!shard->status)
        note(shard, shard_out_seal(&shard->writer));
    const int status = shard->status;
    if (shard->readings || is_kept)
        shard_out_finish(&shard->writer);
    else
        shard_out_remove(&shard->writer);
    small_rows_finish(&shard->rows);
    free(shard->tracks);
    shard->tracks = NULL;
    shard->is_open = false;
    return status ? fail(status, "%s; what was read before stays readable", shard->why) : GAIT_OK;
}
