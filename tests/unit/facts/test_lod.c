// SPDX-License-Identifier: Apache-2.0
// Levels of detail go into a file of facts and come out of it as brute force tells, whatever the
// rows, the frames and the slices are; a file that is wrong has none.
#define _GNU_SOURCE
#include "facts/lod.h"

#include <stdlib.h>
#include <unistd.h>

#include "facts/facts_file.h"
#include "facts/lod_make.h"
#include "facts/rank_stream.h"
#include "fuzz/repair_hashes.h"
#include "support/fact_literals.h"
#include "support/random_values.h"
#include "support/tap.h"

static const struct literal_site sites[] = {{"a", "one"},
                                            {"b", "two"},
                                            {"kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"},
                                            {"counter", "bytes"},
                                            {"counter", "watts"},
                                            {0}};

// --- a rank in a file ------------------------------------------------------------------

struct filed { // a rank, and levels of detail beside it
    struct literal_rank rank;
    struct gait_trace trace;
    char folder[32], path[64], facts[80];
};

static void put_file(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    builder_must(!file || fwrite(bytes, 1, count, file) != count || fclose(file), "a file");
}

static void open_filed(struct filed *filed, const struct literal_row *rows)
{
    snprintf(filed->folder, sizeof filed->folder, "/tmp/lod.XXXXXX");
    builder_must(!mkdtemp(filed->folder), "a folder");
    snprintf(filed->path, sizeof filed->path, "%s/x.gait", filed->folder);
    snprintf(filed->facts, sizeof filed->facts, "%s" FACTS_SUFFIX, filed->path);
    literal_open(&filed->rank, sites, rows);
    const struct buffer *memory = &filed->rank.builder.out.memory;
    put_file(filed->path, memory->bytes, memory->used);
    builder_must(run_open(&filed->trace.run, filed->path), "the file");
    filed->trace.run.wants_facts = true;
}

static void close_filed(struct filed *filed)
{
    run_close(&filed->trace.run);
    literal_close(&filed->rank);
    (void)!unlink(filed->path);
    (void)!unlink(filed->facts);
    (void)!rmdir(filed->folder);
}

// In slices of so many rows.
static void make(struct filed *filed, struct lod_wish *wish, size_t slice_rows)
{
    void *part = calloc(1, lod_consumer.part_bytes);
    struct rank_stream *stream;
    struct facts_file *file;
    struct fact_slice slice;
    const struct stream_wish stream_wish = {.slice_rows = slice_rows};
    builder_must(!part || lod_consumer.begin(part, &filed->trace, 0, wish), "a part");
    builder_must(rank_stream_open(&stream, &filed->trace, 0, &stream_wish), "a stream");
    while (rank_stream_next(stream, &slice) == 1)
        builder_must(lod_consumer.slice(part, &slice), "a slice");
    builder_must(lod_consumer.end(part), "the end");
    builder_must(facts_file_open(&file, &filed->trace, 0) || !file, "a file of facts");
    builder_must(lod_consumer.save(part, file), "to save it");
    facts_file_close(file);
    rank_stream_close(stream);
    lod_consumer.drop(part);
    free(part);
}

// --- from literals ---------------------------------------------------------------------

static void is_span(const struct lod_span *span, const struct lod_span *wanted)
{
    is_int(span->start_ns, wanted->start_ns);
    is_int(span->end_ns, wanted->end_ns);
    is_u64(span->count, wanted->count);
    is_u64(span->busy_ns, wanted->busy_ns);
    is_u64(span->longest_ns, wanted->longest_ns);
    is_u64(span->site, wanted->site);
    is_u64(span->depth, wanted->depth);
}

// bins of 256 ns   0               256             512             768
//   depth 0        |-a-| |-b---|                   |-a--...................(open until 1500)
//   depth 1         |a|              |a|
// the gap in the first bin is shorter than half of it, bins of depth 1 stand apart
static const struct literal_row drawn[] = {{1, 1, 0, 40, 0, 0, 0},
                                           {1, 2, 48, 108, 0, 0, 1},
                                           {1, 1, 8, 20, 0, 1, 0},
                                           {1, 1, 300, 310, 0, 1, 1},
                                           {1, 1, 520, LITERAL_OPEN, 0, 0, 0},
                                           {2, 2, 0, 1500, 0, 0, 0},
                                           {0}};

TEST("lod: a row has the spans of a depth in a bin, in units of a 64th of it")
{
    static const struct lod_span wanted[] = {{.start_ns = 0,
                                              .end_ns = 108,
                                              .count = 2,
                                              .busy_ns = 100,
                                              .longest_ns = 60,
                                              .site = 2,
                                              .depth = 0},
                                             {.start_ns = 520,
                                              .end_ns = 1500,
                                              .count = 1,
                                              .busy_ns = 980,
                                              .longest_ns = 980,
                                              .site = 1,
                                              .depth = 0},
                                             {.start_ns = 8,
                                              .end_ns = 20,
                                              .count = 1,
                                              .busy_ns = 12,
                                              .longest_ns = 12,
                                              .site = 1,
                                              .depth = 1},
                                             {.start_ns = 300,
                                              .end_ns = 312,
                                              .count = 1,
                                              .busy_ns = 12,
                                              .longest_ns = 12,
                                              .site = 1,
                                              .depth = 1}};
    static struct filed filed;
    struct lod_rows rows;
    struct lod *lod;
    open_filed(&filed, drawn);
    make(&filed, &(struct lod_wish){.lowest = 8, .row_spans = 1}, 0);
    if (ok(!lod_open(&lod, &filed.trace, 0)) && ok(lod != NULL)) {
        is_int(lod_read(lod, &(struct lod_window){8, 0, 0, 2000}, &rows), 1);
        if (is_u64(rows.count, 4))
            for (int i = 0; i < 4; i++)
                is_span(&rows.spans[i], &wanted[i]);
        is_u64(rows.raw_count, 0);
        is_int(rows.spans[0].frame != FACT_NO_FRAME, 1);
        is_int(rows.spans[1].frame == FACT_NO_FRAME, 1);
        lod_rows_finish(&rows);
        is_int(lod_read(lod, &(struct lod_window){8, 0, 108, 300}, &rows), 1);
        is_u64(rows.count, 0);
        lod_rows_finish(&rows);
        is_int(lod_read(lod, &(struct lod_window){8, 1, 1400, 1401}, &rows), 1);
        is_u64(rows.count, 1); // it began long before
        lod_rows_finish(&rows);
    }
    lod_close(lod);
    close_filed(&filed);
}

TEST("lod: a row ends where nothing is open for longer than half a bin")
{
    const struct literal_row rows_of[] = {{1, 1, 0, 10, 0, 0, 0},
                                          {1, 1, 138, 140, 0, 0, 0},
                                          {1, 1, 256, 266, 0, 0, 0},
                                          {1, 1, 395, 400, 0, 0, 0},
                                          {0}};
    static struct filed filed;
    struct lod_rows rows;
    struct lod *lod;
    open_filed(&filed, rows_of);
    make(&filed, &(struct lod_wish){.lowest = 8, .row_spans = 1}, 0);
    if (ok(!lod_open(&lod, &filed.trace, 0)) && ok(lod != NULL)) {
        is_int(lod_read(lod, &(struct lod_window){8, 0, 0, 2000}, &rows), 1);
        if (is_u64(rows.count, 3)) {
            is_u64(rows.spans[0].count, 2); // 128 ns apart
            is_int(rows.spans[1].end_ns, 268);
            is_int(rows.spans[2].start_ns, 392); // 129 ns behind
        }
        lod_rows_finish(&rows);
    }
    lod_close(lod);
    close_filed(&filed);
}

TEST("lod: collectives have a row each, others are read where they are few")
{
    const struct literal_row rows_of[] = {{101, 3, 1000, 1007, 0, 0, 0},
                                          {101, 1, 2000, 2008, 0, 0, 0},
                                          {101, 3, 3000, 3009, 0, 0, 0},
                                          {0}};
    static struct filed filed;
    struct lod_rows rows;
    struct lod *lod;
    size_t lanes;
    open_filed(&filed, rows_of);
    make(&filed, NULL, 0);
    if (ok(!lod_open(&lod, &filed.trace, 0)) && ok(lod != NULL)) {
        const struct lod_lane *lane = lod_lanes(lod, &lanes);
        is_u64(lanes, 1);
        is_u64(lane->spans, 3);
        is_int(lane->start_ns, 1000);
        is_int(lane->end_ns, 3009);
        is_int(lod_read(lod, &(struct lod_window){LOD_SINGLE, lane->track, 0, 3000}, &rows), 1);
        if (is_u64(rows.count, 1))
            is_int(rows.spans[0].end_ns, 1007);
        lod_rows_finish(&rows);
        size_t groups;
        const struct lod_group *group = &lod_groups(lod, &groups)[1];
        if (is_u64(groups, 2)) {
            is_int(lod_read(lod, &(struct lod_window){group->level, lane->track, 0, 2500}, &rows),
                   1);
            is_u64(rows.count, 0);
            if (is_u64(rows.raw_count, 1))
                is_int(rows.raws[0].since_ns <= 1000 && rows.raws[0].until_ns == 2500, 1);
            lod_rows_finish(&rows);
        }
    }
    lod_close(lod);
    close_filed(&filed);
}

// bins of 256 ns   0               256
//   bytes          5    -3    4                    7
//   watts                   9
TEST("lod: a counter's row has its least value, its most and the last one")
{
    static const struct {
        double least, most, last;
        uint64_t count;
        uint32_t site;
    } wanted[] = {{-3, 5, 4, 3, 4}, {9, 9, 9, 1, 5}, {7, 7, 7, 1, 4}};
    const struct literal_row rows_of[] = {LITERAL_COUNTER(1, 4, 0, 5),
                                          LITERAL_COUNTER(1, 4, 100, (uint64_t)-3),
                                          LITERAL_COUNTER(1, 4, 120, 4),
                                          LITERAL_COUNTER(1, 5, 110, 9),
                                          LITERAL_COUNTER(1, 4, 400, 7),
                                          {1, 1, 0, 500, 0, 0, 0},
                                          {0}};
    static struct filed filed;
    struct lod_rows rows;
    struct lod *lod;
    open_filed(&filed, rows_of);
    make(&filed, &(struct lod_wish){.lowest = 8, .row_spans = 1}, 0);
    if (ok(!lod_open(&lod, &filed.trace, 0)) && ok(lod != NULL)) {
        size_t found = 0;
        is_int(lod_read(lod, &(struct lod_window){8, 0, 0, 2000}, &rows), 1);
        is_u64(rows.count, 4);
        for (size_t i = 0; i < rows.count; i++)
            for (size_t k = 0; k < 3; k++)
                found +=
                    rows.spans[i].is_counter && rows.spans[i].least == wanted[k].least &&
                    rows.spans[i].most == wanted[k].most && rows.spans[i].last == wanted[k].last &&
                    rows.spans[i].count == wanted[k].count && rows.spans[i].site == wanted[k].site;
        is_u64(found, 3);
        lod_rows_finish(&rows);
    }
    lod_close(lod);
    close_filed(&filed);
}

// --- brute force -----------------------------------------------------------------------

enum { MOST_WRITTEN = 120 };

struct expected {
    struct lod_span spans[MOST_WRITTEN];
    size_t count;
};

static int64_t up(int64_t ns, unsigned bits)
{
    return ((ns + (INT64_C(1) << bits) - 1) >> bits) << bits;
}

static int by_start(const void *left, const void *right)
{
    const struct literal_row *a = left, *b = right;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

enum { FIRST_COUNTER = 4, LANES = 5 }; // three depths, two counters

static bool is_of(const struct literal_row *row, uint32_t track, uint32_t lane)
{
    const bool is_counter = row->site >= FIRST_COUNTER;
    return row->track == track && (is_counter ? row->site - 1 : row->depth) == lane;
}

static void expect_value(struct lod_span *span, double value)
{
    span->least = span->is_counter && span->least < value ? span->least : value;
    span->most = span->is_counter && span->most > value ? span->most : value;
    span->last = value;
    span->is_counter = true;
}

static void expect_lane(struct expected *all, const struct literal_row *sorted, uint32_t track,
                        uint32_t lane, unsigned level)
{
    const unsigned bits = level - 6;
    struct lod_span *last = NULL;
    for (; sorted->track; sorted++) {
        const int64_t ns = sorted->end_ns - sorted->start_ns;
        if (!is_of(sorted, track, lane))
            continue;
        if (!last || last->start_ns >> level != sorted->start_ns >> level ||
            sorted->start_ns - last->end_ns > INT64_C(1) << (level - 1)) {
            last = &all->spans[all->count];
            all->count++;
            *last = (struct lod_span){.start_ns = sorted->start_ns, .depth = sorted->depth};
        }
        last->end_ns = sorted->end_ns > last->end_ns ? sorted->end_ns : last->end_ns;
        last->count++;
        if (sorted->site >= FIRST_COUNTER)
            expect_value(last, (double)(int64_t)sorted->link);
        last->busy_ns += (uint64_t)ns;
        if ((uint64_t)ns > last->longest_ns)
            last->longest_ns = (uint64_t)ns;
    }
    for (size_t i = 0; i < all->count; i++) {
        struct lod_span *span = &all->spans[i];
        span->start_ns = span->start_ns >> bits << bits;
        span->end_ns = up(span->end_ns, bits);
        span->busy_ns = (uint64_t)up((int64_t)span->busy_ns, bits);
        span->longest_ns = (uint64_t)up((int64_t)span->longest_ns, bits);
    }
}

static struct expected expect(const struct literal_row *rows, size_t count, uint32_t track,
                              unsigned level)
{
    struct literal_row sorted[MOST_WRITTEN + 1];
    struct expected all = {.count = 0};
    memcpy(sorted, rows, (count + 1) * sizeof *rows);
    qsort(sorted, count, sizeof *sorted, by_start);
    for (uint32_t number = 0; number < LANES; number++) {
        struct expected lane = {.count = 0};
        expect_lane(&lane, sorted, track, number, level);
        for (size_t i = 0; i < lane.count; i++)
            all.spans[all.count++] = lane.spans[i];
    }
    return all;
}

static bool is_equal(const struct lod_span *a, const struct lod_span *b)
{
    return a->start_ns == b->start_ns && a->end_ns == b->end_ns && a->count == b->count &&
           a->busy_ns == b->busy_ns && a->longest_ns == b->longest_ns && a->depth == b->depth &&
           a->is_counter == b->is_counter && a->least == b->least && a->most == b->most &&
           a->last == b->last;
}

static bool touches(const struct lod_span *span, const struct lod_window *window)
{
    return span->start_ns < window->until_ns &&
           (span->end_ns > window->since_ns || span->start_ns >= window->since_ns);
}

static bool is_raw(const struct lod_rows *rows, int64_t start_ns)
{
    for (size_t i = 0; i < rows->raw_count; i++)
        if (start_ns >= rows->raws[i].since_ns && start_ns < rows->raws[i].until_ns)
            return true;
    return false;
}

// The frame that it names holds spans of then.
static bool has_frame(const struct filed *filed, const struct lod_span *span, uint32_t track)
{
    const struct run_shard *shard = filed->trace.run.shards[0];
    if (span->frame >= shard->shard.list.count)
        return false;
    const struct frame_entry *entry = &shard->shard.list.entries[span->frame];
    return entry->table == TABLE_SPAN &&
           id_map_get(&shard->dictionary.tracks, entry->track) == track + 1 &&
           (int64_t)entry->last >= span->start_ns && (int64_t)entry->first < span->end_ns + 1;
}

// Each row that is wanted is there once, or is left out where it starts.
static unsigned compare(const struct filed *filed, const struct lod_rows *rows,
                        const struct expected *all, const struct lod_window *window)
{
    unsigned wrong = 0;
    size_t found = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct lod_span *wanted = &all->spans[i];
        unsigned hits = 0;
        if (!touches(wanted, window))
            continue;
        for (size_t k = 0; k < rows->count; k++)
            hits += is_equal(&rows->spans[k], wanted);
        found += hits;
        wrong += hits != !is_raw(rows, wanted->start_ns);
    }
    for (size_t k = 0; k < rows->count; k++)
        wrong += !rows->spans[k].is_counter && !has_frame(filed, &rows->spans[k], window->track);
    return wrong + (found != rows->count);
}

static size_t make_rows(struct random_values *values, struct literal_row *rows)
{
    const size_t count = 1 + random_below(values, MOST_WRITTEN - 1),
                 tracks = 1 + random_below(values, 3), frames = 1 + random_below(values, 6);
    const uint64_t time = UINT64_C(1) << (8 + random_below(values, 16)),
                   length = 1 + random_below(values, time / 4);
    for (size_t i = 0; i < count; i++) {
        const int64_t start = (int64_t)random_below(values, time);
        rows[i] = (struct literal_row){.track = 1 + (uint32_t)random_below(values, tracks),
                                       .site = 1 + (uint32_t)random_below(values, 2),
                                       .start_ns = start,
                                       .end_ns = start + (int64_t)random_below(values, length),
                                       .depth = (uint32_t)random_below(values, 3),
                                       .frame = (uint32_t)random_below(values, frames)};
    }
    for (size_t i = 0; i < count; i++) // each at a time of its own, else they have no order
        if (random_below(values, 4) == 0)
            rows[i] = (struct literal_row)LITERAL_COUNTER(
                rows[i].track, FIRST_COUNTER + (uint32_t)random_below(values, 2),
                (rows[i].start_ns & ~INT64_C(127)) + (int64_t)i, random_below(values, 9) - 4);
    rows[count] = (struct literal_row){0};
    return count;
}

static unsigned judge_group(const struct lod_group *group, const struct lod_wish *wish)
{
    const bool is_dense = group->spans >= wish->row_spans * group->rows;
    return group->level != LOD_SINGLE && group->is_kept != is_dense;
}

static unsigned judge(struct lod *lod, const struct filed *filed, const struct literal_row *rows,
                      size_t count, struct random_values *values)
{
    unsigned wrong = 0;
    size_t group_count;
    const struct lod_group *groups = lod_groups(lod, &group_count);
    for (size_t i = 0; i < group_count; i++) {
        const uint32_t track = (uint32_t)random_below(values, filed->trace.run.tracks.count);
        const int64_t since = (int64_t)random_below(values, 1 << 20);
        const struct lod_window windows[] = {
            {groups[i].level, track, INT64_MIN, INT64_MAX},
            {groups[i].level, track, since, since + (int64_t)random_below(values, 1 << 18)}};
        const struct expected all =
            expect(rows, count, filed->trace.run.tracks.tracks[track].id, groups[i].level);
        for (int k = 0; k < 2; k++) {
            struct lod_rows read = {.count = 0};
            wrong += lod_read(lod, &windows[k], &read) != 1;
            wrong += compare(filed, &read, &all, &windows[k]);
            lod_rows_finish(&read);
        }
    }
    return wrong + !group_count;
}

static unsigned random_wrong(struct random_values *values)
{
    static struct filed filed;
    struct literal_row rows[MOST_WRITTEN + 1];
    struct lod *lod = NULL;
    memset(&filed, 0, sizeof filed);
    const size_t count = make_rows(values, rows);
    struct lod_wish wish = {.lowest = random_below(values, 2) ? 6 : 0,
                            .group_rows = 1 + random_below(values, 20),
                            .row_spans = 1 + random_below(values, 4)};
    open_filed(&filed, rows);
    make(&filed, &wish, 1 + random_below(values, 40));
    unsigned wrong = lod_open(&lod, &filed.trace, 0) != GAIT_OK || !lod;
    if (!wrong)
        wrong = judge(lod, &filed, rows, count, values);
    size_t groups = 0;
    const struct lod_group *group = lod ? lod_groups(lod, &groups) : NULL;
    for (size_t i = 0; i < groups; i++)
        wrong += judge_group(&group[i], &wish);
    lod_close(lod);
    close_filed(&filed);
    return wrong;
}

TEST("lod: of any rows, frames and slices each row is there, or left out where it starts")
{
    struct random_values values = {88172645463325252u};
    unsigned wrong = 0;
    for (int i = 0; i < 2000; i++)
        wrong += random_wrong(&values) > 0;
    is_u64(wrong, 0);
}

// --- what is wrong ---------------------------------------------------------------------

static size_t take_file(const char *path, uint8_t *bytes, size_t room)
{
    FILE *file = fopen(path, "rb");
    builder_must(!file, "the file of facts");
    const size_t count = fread(bytes, 1, room, file);
    (void)!fclose(file);
    return count;
}

// Rows that were read out of a wrong file, or -1: there were none.
static int look(struct gait_trace *trace)
{
    struct lod *lod;
    size_t count, lanes, rows_read = 0;
    if (lod_open(&lod, trace, 0) || !lod)
        return -1;
    const struct lod_group *groups = lod_groups(lod, &count);
    const struct lod_lane *lane = lod_lanes(lod, &lanes);
    int told = 0;
    for (size_t i = 0; i < count && lanes && told >= 0; i++) {
        const struct lod_window window = {groups[i].level, lane->track, INT64_MIN, INT64_MAX};
        struct lod_rows rows;
        told = lod_read(lod, &window, &rows) == 1 ? 0 : -1;
        if (told < 0)
            break;
        rows_read += rows.count;
        for (size_t k = 0; k < rows.count; k++)
            if (rows.spans[k].start_ns > rows.spans[k].end_ns || !rows.spans[k].count)
                told = -2;
        lod_rows_finish(&rows);
    }
    lod_close(lod);
    return told ? told : (int)rows_read;
}

enum { FILE_ROOM = 1 << 16 };

static size_t make_drawn(struct filed *filed, uint8_t *bytes)
{
    open_filed(filed, drawn);
    make(filed, &(struct lod_wish){.lowest = 8, .row_spans = 1}, 0);
    return take_file(filed->facts, bytes, FILE_ROOM);
}

TEST("lod: a file that is cut, or has another byte, has none")
{
    static struct filed filed;
    static uint8_t bytes[FILE_ROOM];
    const size_t count = make_drawn(&filed, bytes);
    unsigned told = 0;
    const int whole = look(&filed.trace);
    is_int(whole > 0, 1);
    for (size_t at = 0; at < count; at += 3) {
        put_file(filed.facts, bytes, at);
        told += look(&filed.trace) != -1;
    }
    is_u64(told, 0);
    for (size_t at = 0; at < count; at++) {
        bytes[at] ^= 4;
        put_file(filed.facts, bytes, count);
        const int seen = look(&filed.trace);
        told += seen != -1 && seen != whole; // of lists that nobody asks for
        bytes[at] ^= 4;
    }
    is_u64(told, 0);
    close_filed(&filed);
}

TEST("lod: random bytes with good hashes tell no row that cannot be")
{
    static struct filed filed;
    static uint8_t bytes[FILE_ROOM], wrong[FILE_ROOM];
    struct random_values values = {362436069};
    const size_t count = make_drawn(&filed, bytes);
    unsigned refused = 0, read = 0, impossible = 0;
    for (int i = 0; i < 4000; i++) {
        memcpy(wrong, bytes, count);
        wrong[random_below(&values, count)] = (uint8_t)random_next(&values);
        wrong[random_below(&values, count)] = (uint8_t)random_next(&values);
        repair_hashes(wrong, count);
        filed.trace.run.facts = (struct slice){wrong, count};
        const int told = look(&filed.trace);
        refused += told == -1;
        read += told >= 0;
        impossible += told == -2;
    }
    filed.trace.run.facts = (struct slice){0};
    ok(refused > 100 && read > 100);
    is_u64(impossible, 0);
    close_filed(&filed);
}
