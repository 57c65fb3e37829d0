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
#include "support/shard_builder.h"

struct literal_site {
    const char *category, *name;
};

struct literal_row {
    uint32_t track; // from 1 on; 0 ends the list
    uint32_t site;  // from 1 on
    int64_t start_ns, end_ns;
    uint64_t link;
    uint32_t depth, frame; // of the track: rows of one frame need not follow each other
};

enum { LITERAL_OPEN = -1 }; // the end of a row that never ended

// Of sites whose category is "memory" or "step" rows are no spans: an event of memory, and a step
// that a program marked, whose number is the link.
#define LITERAL_MEMORY(track, site, at_ns, address, bytes)                                         \
    {track, site, at_ns, bytes, address, 0, 0}

static inline bool literal_is(const struct literal_site *sites, const struct literal_row *row,
                              const char *category)
{
    return strcmp(sites[row->site - 1].category, category) == 0;
}

struct literal_rank {
    struct shard_builder builder;
    struct gait_trace trace;
};

enum { LITERAL_MOST_ROWS = 512, LITERAL_DEVICE_TRACKS = 100 };

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

static inline int literal_by_start(const void *left, const void *right)
{
    const struct literal_row *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->depth < b->depth ? -1 : a->depth > b->depth;
}

static inline void literal_frame(struct shard_builder *builder, struct literal_row *rows,
                                 uint32_t count)
{
    static uint64_t cells[5][LITERAL_MOST_ROWS];
    uint64_t last = 0;
    qsort(rows, count, sizeof *rows, literal_by_start);
    for (uint32_t i = 0; i < count; i++) {
        cells[0][i] = (uint64_t)rows[i].start_ns;
        cells[1][i] = (uint64_t)(rows[i].end_ns - rows[i].start_ns);
        cells[2][i] = rows[i].site;
        cells[3][i] = rows[i].depth;
        cells[4][i] = rows[i].link;
        last = (uint64_t)rows[i].end_ns > last ? (uint64_t)rows[i].end_ns : last;
    }
    if (count)
        builder_put(builder, TABLE_SPAN, rows->track, count,
                    &(struct builder_rows){
                        .columns = {cells[0], cells[1], cells[2], cells[3], NULL, cells[4]},
                        .first = cells[0][0],
                        .last = last,
                        .events = count});
}

static inline void literal_no_span(struct shard_builder *builder, const struct literal_row *row,
                                   bool is_step)
{
    const uint64_t start = (uint64_t)row->start_ns, end = (uint64_t)row->end_ns,
                   ticks = end - start, kind = row->end_ns < 0 ? 2 : 1, site = row->site;
    const struct builder_rows step = {.columns = {&start, &ticks, &row->link},
                                      .first = start,
                                      .last = end,
                                      .events = 1},
                              memory = {.columns = {&start, &kind, &row->link, &end, NULL, &site},
                                        .first = start,
                                        .last = start,
                                        .events = 1};
    builder_put(builder, is_step ? TABLE_STEP : TABLE_MEMORY, row->track, 1,
                is_step ? &step : &memory);
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

static inline void literal_open(struct literal_rank *rank, const struct literal_site *sites,
                                const struct literal_row *rows)
{
    struct shard_builder *builder = &rank->builder;
    bool is_known[2 * LITERAL_DEVICE_TRACKS] = {false};
    builder_must(shard_out_open_memory(&builder->out), "a writer");
    builder_must(table_write_schema_foreign(&builder->out.tables), "the schema");
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
    literal_frames(builder, sites, rows);
    literal_commit(builder, rows, is_known);
    builder_close(builder);
    const struct slice bytes = {builder->out.memory.bytes, builder->out.memory.used};
    builder_must(run_open_memory(&rank->trace.run, bytes), "a trace");
}

static inline void literal_close(struct literal_rank *rank)
{
    run_close(&rank->trace.run);
    builder_finish(&rank->builder);
}

#endif
