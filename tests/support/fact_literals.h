// SPDX-License-Identifier: Apache-2.0
// A rank from rows that a test writes down. Site 0 is nobody's; site i + 1 is sites[i].
//
//     struct literal_rank rank;
//     literal_open(&rank, sites, rows);   arrays, each ended by a zeroed row
//     ... rank.trace ...
//     literal_close(&rank);
#ifndef GAIT_FACT_LITERALS_H
#define GAIT_FACT_LITERALS_H

#include "load/run.h"
#include "support/literal_frames.h"
#include "vocabulary/metadata.h"

struct literal_rank {
    struct shard_builder builder;
    struct gait_trace trace;
};

enum { LITERAL_DEVICE_TRACKS = 100 };

// Tracks from 101 on are streams, one of each device: 101 of device 0.
static inline void literal_track(struct shard_builder *builder, uint32_t track)
{
    const uint32_t device = track - LITERAL_DEVICE_TRACKS - 1;
    char key[16];
    if (track <= LITERAL_DEVICE_TRACKS) {
        builder_track(builder, track, "thread", 0);
        return;
    }
    const uint64_t ids[2] = {1000 + track, track}, kinds[2] = {2, 3}, parents[2] = {0, ids[0]};
    snprintf(key, sizeof key, "%u", device);
    const struct slice keys[2] = {slice_of(key), slice_of("stream 7")},
                       names[2] = {slice_of("device"), slice_of("stream")};
    builder_put(builder, TABLE_TRACK, 0, 2,
                &(struct builder_rows){.columns = {ids, kinds, NULL, NULL, NULL, parents},
                                       .bytes = {NULL, NULL, keys, names}});
}

// Frame by frame, track by track.
static inline void literal_frames(struct shard_builder *builder, const struct literal_site *sites,
                                  const struct literal_row *rows)
{
    static struct literal_row own[LITERAL_MOST_ROWS];
    bool is_done[LITERAL_MOST_ROWS] = {false};
    for (uint32_t i = 0; rows[i].track; i++) {
        uint32_t count = 0;
        for (uint32_t k = i; rows[k].track && !is_done[i]; k++) {
            if (rows[k].track != rows[i].track || rows[k].frame != rows[i].frame)
                continue;
            is_done[k] = k != i;
            const bool is_step = literal_is(sites, &rows[k], "step");
            if (is_step || literal_is(sites, &rows[k], "memory"))
                literal_no_span(builder, &rows[k], is_step);
            else if (literal_is(sites, &rows[k], "counter"))
                literal_counter(builder, &rows[k]);
            else if (rows[k].end_ns != LITERAL_OPEN)
                own[count++] = rows[k];
        }
        literal_frame(builder, own, count);
    }
}

// What is open stands in front of the commit of all tracks.
static inline void literal_commit(struct shard_builder *builder, const struct literal_row *rows,
                                  const bool *is_known)
{
    uint64_t tracks[2 * LITERAL_DEVICE_TRACKS];
    uint32_t count = 0;
    for (uint32_t i = 0; rows[i].track; i++)
        if (rows[i].end_ns == LITERAL_OPEN)
            builder_open(builder, rows[i].track, (uint64_t)rows[i].start_ns, rows[i].site, 0);
    for (uint32_t i = 0; i < 2 * LITERAL_DEVICE_TRACKS; i++)
        if (is_known[i])
            tracks[count++] = i;
    builder_put(builder, TABLE_COMMIT, 0, count, &(struct builder_rows){.columns = {tracks}});
}

// `import`: JSON, of another tool's trace; NULL: gait's own.
static inline void literal_open_as(struct literal_rank *rank, const struct literal_site *sites,
                                   const struct literal_row *rows, const char *import)
{
    struct shard_builder *builder = &rank->builder;
    bool is_known[2 * LITERAL_DEVICE_TRACKS] = {false};
    builder_must(shard_out_open_memory(&builder->out), "a writer");
    builder_must(table_write_schema_foreign(&builder->out.tables), "the schema");
    if (import) {
        builder_meta(builder, meta.import, import);
        builder_meta(builder, meta.source, "{}");
    }
    for (uint64_t i = 0; sites[i].name; i++) {
        builder_string(builder, 2 * i + 1, sites[i].category);
        builder_string(builder, 2 * i + 2, sites[i].name);
        builder_site(builder, i + 1, 2 * i + 1, 2 * i + 2);
    }
    for (uint32_t i = 0; rows[i].track; i++) {
        if (!is_known[rows[i].track])
            literal_track(builder, rows[i].track);
        is_known[rows[i].track] = true;
    }
    literal_args_keys(builder);
    literal_frames(builder, sites, rows);
    literal_commit(builder, rows, is_known);
    builder_close(builder);
    const struct slice bytes = {builder->out.memory.bytes, builder->out.memory.used};
    builder_must(run_open_memory(&rank->trace.run, bytes), "a trace");
}

static inline void literal_open(struct literal_rank *rank, const struct literal_site *sites,
                                const struct literal_row *rows)
{
    literal_open_as(rank, sites, rows, NULL);
}

static inline void literal_close(struct literal_rank *rank)
{
    run_close(&rank->trace.run);
    builder_finish(&rank->builder);
}

#endif
