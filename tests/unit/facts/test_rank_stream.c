// SPDX-License-Identifier: Apache-2.0
// Whatever the frames are and wherever slices end: all rows come once, in order, each frame is
// decoded once, and what slices add up to is what sorting all rows tells.
#define _GNU_SOURCE
#include "facts/rank_stream.h"

#include "facts/facts.h"
#include "facts/run_merge.h"
#include "support/fact_literals.h"
#include "support/frame_decodes.h"
#include "support/random_values.h"
#include "support/tap.h"

static const struct literal_site sites[] = {{"a", "one"}, {"b", "two"}, {0}};

TEST("rank stream: a track's rows come by start, the longer first, then by depth")
{
    // frame 0: |--------|      |-|
    // frame 1:   |--|   |-----------|
    const struct literal_row rows[] = {{1, 1, 0, 90, 0, 0, 0},
                                       {1, 2, 100, 110, 0, 1, 0},
                                       {1, 2, 20, 50, 0, 1, 1},
                                       {1, 1, 100, 150, 0, 0, 1},
                                       {1, 1, 20, 50, 7, 2, 0},
                                       {1, 2, 130, LITERAL_OPEN, 0, 0, 0},
                                       {0}};
    const int64_t starts[] = {0, 20, 20, 100, 100, 130};
    const uint32_t wanted[] = {1, 2, 1, 1, 2, 2};
    struct literal_rank rank;
    struct rank_stream *stream = NULL;
    struct fact_slice slice;
    literal_open(&rank, sites, rows);
    if (!ok(!rank_stream_open(&stream, &rank.trace, 0,
                              &(struct stream_wish){.columns = FACT_LINKS})))
        return;
    is_int(rank_stream_next(stream, &slice), 1);
    if (is_u64(slice.count, 1) && is_u64(slice.tracks[0].count, 6))
        for (int i = 0; i < 6; i++) {
            is_int(slice.tracks[0].rows[i].start_ns, starts[i]);
            is_int(slice.tracks[0].rows[i].site, wanted[i]);
        }
    is_int(slice.tracks[0].rows[2].link, 7);
    is_int(slice.tracks[0].rows[5].end_ns == FACT_OPEN, 1);
    is_int(slice.until_ns == INT64_MAX, 1);
    is_int(rank_stream_next(stream, &slice), 0);
    rank_stream_close(stream);
    literal_close(&rank);
}

// --- any rows, any frames, any slices -----------------------------------------------------

static size_t make_rows(struct random_values *values, struct literal_row *rows)
{
    const size_t count = 1 + random_below(values, 60), tracks = 1 + random_below(values, 4),
                 frames = 1 + random_below(values, 9);
    for (size_t i = 0; i < count; i++) {
        const int64_t start = (int64_t)random_below(values, 40);
        rows[i] = (struct literal_row){.track = 1 + (uint32_t)random_below(values, tracks),
                                       .site = 1 + (uint32_t)random_below(values, 2),
                                       .start_ns = start,
                                       .end_ns = start + (int64_t)random_below(values, 20),
                                       .link = i + 1,
                                       .depth = (uint32_t)random_below(values, 3),
                                       .frame = (uint32_t)random_below(values, frames)};
    }
    rows[count] = (struct literal_row){0};
    return count;
}

// Wrong things about one slice; `seen` counts rows by their link.
static unsigned judge(const struct fact_slice *slice, int64_t since_ns, int64_t *lasts,
                      unsigned char *seen)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < slice->count; i++) {
        const struct fact_rows *track = &slice->tracks[i];
        wrong += !track->count;
        for (size_t at = 0; at < track->count; at++) {
            const struct fact_row *row = &track->rows[at];
            wrong += row->start_ns < since_ns || row->start_ns >= slice->until_ns;
            wrong += row->start_ns < lasts[track->track];
            lasts[track->track] = row->start_ns;
            seen[row->link]++;
        }
    }
    return wrong;
}

static unsigned random_wrong(struct random_values *values)
{
    struct literal_row rows[LITERAL_MOST_ROWS];
    unsigned char seen[LITERAL_MOST_ROWS] = {0};
    int64_t lasts[16] = {0}, since_ns = 0;
    struct literal_rank rank;
    struct rank_stream *stream = NULL;
    struct fact_slice slice;
    const size_t count = make_rows(values, rows);
    literal_open(&rank, sites, rows);
    const struct stream_wish wish = {.columns = FACT_LINKS,
                                     .slice_rows = 1 + random_below(values, 30)};
    unsigned wrong = rank_stream_open(&stream, &rank.trace, 0, &wish) != GAIT_OK;
    while (rank_stream_next(stream, &slice) == 1) {
        wrong += judge(&slice, since_ns, lasts, seen);
        since_ns = slice.until_ns;
    }
    for (size_t i = 1; i <= count; i++)
        wrong += seen[i] != 1;
    wrong += most_decodes(&rank.trace) != 1;
    rank_stream_close(stream);
    literal_close(&rank);
    return wrong;
}

TEST("rank stream: any split into frames and slices gives each row once and in order")
{
    struct random_values values = {88172645463325252u};
    unsigned wrong = 0;
    for (int i = 0; i < 10000; i++)
        wrong += random_wrong(&values);
    is_u64(wrong, 0);
}

static unsigned random_wrong_merge(struct random_values *values)
{
    struct fact_row rows[64], room[64];
    size_t ends[16], count = 0;
    const size_t runs = 1 + random_below(values, 15);
    unsigned wrong = 0;
    for (size_t run = 0; run < runs; run++) {
        int64_t at = (int64_t)random_below(values, 20);
        for (size_t k = random_below(values, 5); k-- > 0; count++) {
            rows[count] = (struct fact_row){.start_ns = at, .end_ns = 99, .place = (uint32_t)count};
            at += (int64_t)random_below(values, 3);
        }
        ends[run] = count;
    }
    run_merge(rows, room, ends, runs);
    for (size_t i = 1; i < count; i++)
        wrong += fact_row_is_before(&rows[i], &rows[i - 1]) ||
                 (!fact_row_is_before(&rows[i - 1], &rows[i]) && rows[i].place < rows[i - 1].place);
    return wrong;
}

TEST("run merge: any runs come into one order, equal rows in the order of their runs")
{
    struct random_values values = {362436069};
    unsigned wrong = 0;
    for (int round = 0; round < 5000; round++)
        wrong += random_wrong_merge(&values);
    is_u64(wrong, 0);
}
