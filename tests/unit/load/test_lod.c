// SPDX-License-Identifier: Apache-2.0
// Sums of spans: every level sums up all spans of its track and depth, row by
// row as the format says, and the file that holds them reads like any other.
#define _GNU_SOURCE
#include "load/detail/lod.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "load/detail/lod_sums.h"
#include "load/run.h"
#include "support/shard_builder.h"
#include "support/tap.h"

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % below;
}

enum { MOST_SPANS = 70000 };

static struct lod_row spans[MOST_SPANS];

static void make_spans(size_t count)
{
    uint64_t tick = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t duration = next_random(100);

        tick += next_random(50);
        spans[i] = (struct lod_row){.start = tick,
                                    .end = tick + duration,
                                    .count = 1,
                                    .busy = duration,
                                    .longest = duration,
                                    .site = (uint32_t)next_random(5)};
        tick += duration;
    }
}

// The n-th row of a level, from the spans themselves.
static struct lod_row sum_of(size_t count, size_t spans_a_row, size_t n)
{
    size_t first = n * spans_a_row;
    struct lod_row sum = spans[first];

    for (size_t i = first + 1; i < first + spans_a_row && i < count; i++) {
        sum.end = spans[i].end > sum.end ? spans[i].end : sum.end;
        sum.count++;
        sum.busy += spans[i].busy;
        if (spans[i].longest > sum.longest) {
            sum.longest = spans[i].longest;
            sum.site = spans[i].site;
        }
    }
    return sum;
}

static bool is_equal(const struct lod_row *a, const struct lod_row *b)
{
    return a->start == b->start && a->end == b->end && a->count == b->count && a->busy == b->busy &&
           a->longest == b->longest && a->site == b->site;
}

// How many rows each level of `count` spans has, and that each is right.
static size_t count_wrong(const struct lod_track *track, size_t count)
{
    size_t next[LOD_SUMS_LEVELS] = {0};
    size_t wrong = 0;
    size_t width = 32;

    for (size_t i = 0; i < track->row_count; i++) {
        const struct lod_row *row = &track->rows[i];
        size_t spans_a_row = (size_t)32 << 3 * row->level;
        struct lod_row want = sum_of(count, spans_a_row, next[row->level]++);

        wrong += !is_equal(row, &want);
    }
    for (int level = 0; level < LOD_SUMS_LEVELS; level++, width *= 8) {
        size_t rows = (count + width - 1) / width;

        // a level whose only row would be one of the level below is left out
        if (level && (count + width / 8 - 1) / (width / 8) <= 1)
            rows = 0;
        wrong += next[level] != rows;
    }
    return wrong;
}

TEST("lod: every level sums up all spans, for any number of them")
{
    static const size_t counts[] = {0,   1,   31,  32,  33,   255,  256,   257,   288,
                                    289, 511, 512, 513, 2048, 2049, 16384, 16640, 70000};
    size_t wrong = 0;

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct lod_track track = {0};
        int status = 0;

        make_spans(counts[i]);
        for (size_t k = 0; k < counts[i]; k++)
            status |= lod_sums_add(&track, &spans[k]);
        ok(!status && !lod_sums_end(&track));
        if (count_wrong(&track, counts[i]))
            printf("# wrong for %zu spans\n", counts[i]);
        wrong += count_wrong(&track, counts[i]);
        lod_sums_finish(&track);
    }
    is_u64(wrong, 0);
}

// --- the file -------------------------------------------------------------------

static char directory[40], shard_path[64], index_path[72];

enum { FILE_SPANS = 5000 };

static void save_shard(void)
{
    static uint64_t start[FILE_SPANS], duration[FILE_SPANS], site[FILE_SPANS], depth[FILE_SPANS];
    struct shard_builder builder;

    snprintf(directory, sizeof(directory), "/tmp/gait-lod-XXXXXX");
    builder_must(!mkdtemp(directory), "a directory");
    snprintf(shard_path, sizeof(shard_path), "%s/x.gait", directory);
    snprintf(index_path, sizeof(index_path), "%s-index", shard_path);
    make_spans(FILE_SPANS);
    for (size_t i = 0; i < FILE_SPANS; i++) {
        start[i] = spans[i].start;
        duration[i] = spans[i].busy;
        site[i] = 7;
        depth[i] = 300; // counts as 255
    }
    builder_init(&builder);
    builder_meta(&builder, "session", "\"5e55\"");
    builder_string(&builder, 9, "work");
    builder_site(&builder, 7, 0, 9);
    builder_track(&builder, 3, "main", 1);
    builder_anchor(&builder, 0, 1000, 5000);
    builder_anchor(&builder, 200000000, 100001000, 100005000);
    builder_put(&builder, TABLE_SPAN, 3, FILE_SPANS,
                &(struct builder_rows){.columns = {start, duration, site, depth},
                                       .first = start[0],
                                       .last = spans[FILE_SPANS - 1].end,
                                       .events = FILE_SPANS});
    builder_close(&builder);
    builder_save(&builder, shard_path);
    builder_finish(&builder);
}

static void clean_up(void)
{
    unlink(index_path);
    unlink(shard_path);
    is_int(rmdir(directory), 0); // nothing else was left there
}

TEST("lod: the file beside the shard reads like any other and holds the sums")
{
    struct lod_result result;
    struct run run;
    uint64_t total = 0, rows = 0;

    save_shard();
    if (!ok(!lod_write(shard_path, false, &result)) || !ok(!run_open(&run, index_path)))
        return;
    is_u64(result.spans, FILE_SPANS);
    is_u64(run.damage.count, 0);
    is_int(run.shards[0]->info.complete, 1);
    is_u64(run.tracks.count, 1);
    is_str(run.tracks.tracks[0].info.name, "main");
    is_int(clock_map_ns(run.tracks.tracks[0].map, 101), 5050);
    for (size_t i = 0; i < run.shards[0]->shard.list.count; i++) {
        if (run.shards[0]->shard.list.entries[i].table != TABLE_LOD)
            continue;
        is_u64(run.shards[0]->shard.list.entries[i].track, 3);
        ok(!row_reader_load(&run.rows, &run.shards[0]->shard, i,
                            &run.shards[0]->dictionary.schema));
        for (size_t row = 0; row < run.rows.rows; row++) {
            uint32_t site =
                dictionary_site(&run.shards[0]->dictionary, run.rows.columns[6].numbers[row]);

            rows++;
            if (run.rows.columns[0].numbers[row] == 0)
                total += run.rows.columns[3].numbers[row];
            ok(!strcmp(run.sites.sites[site].name, "work"));
            is_u64(run.rows.columns[7].numbers[row], 255);
        }
    }
    is_u64(total, FILE_SPANS);
    is_u64(rows, result.rows);
    run_close(&run);
    clean_up();
}

TEST("lod: an index that fits its shard is left alone, another is written anew")
{
    struct lod_result result;
    struct stat before, after;

    save_shard();
    ok(!lod_write(shard_path, false, &result));
    ok(!result.was_up_to_date);
    ok(!stat(index_path, &before));
    ok(!lod_write(shard_path, false, &result));
    ok(result.was_up_to_date);
    ok(!stat(index_path, &after));
    ok(before.st_ino == after.st_ino);
    ok(!lod_write(shard_path, true, &result));
    ok(!result.was_up_to_date);
    ok(!truncate(index_path, before.st_size / 2)); // damaged
    ok(!lod_write(shard_path, false, &result));
    ok(!result.was_up_to_date);
    ok(!truncate(shard_path, 3000)); // the shard is another now
    ok(!lod_write(shard_path, false, &result));
    ok(!result.was_up_to_date);
    clean_up();
}

TEST("lod: where nothing can be written, one sentence says so and nothing is left")
{
    struct lod_result result;

    save_shard();
    ok(!mkdir(index_path, 0700)); // in the way
    is_int(lod_write(shard_path, false, &result), GAIT_ERR_IO);
    ok(strstr(fail_text(), "x.gait-index") != NULL);
    rmdir(index_path);
    clean_up();
    is_int(lod_write("/nonexistent/x.gait", false, &result), GAIT_ERR_MISSING);
}
