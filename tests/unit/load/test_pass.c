// SPDX-License-Identifier: Apache-2.0
// One reading for all who ask: what each is shown, in which order answers come
// together, and what a failure leaves.
#define _GNU_SOURCE
#include "load/pass/pass.h"

#include <unistd.h>

#include "base/fail.h"
#include "load/run.h"
#include "support/frame_decodes.h"
#include "support/shard_builder.h"
#include "support/tap.h"

enum { SHARDS = 40, FRAMES = 3, ROWS = 5 };

static char directory[40];

// Spans 1000 * frame + 10 * row + shard; one of them is open at the end.
static void save_shard(unsigned number)
{
    struct shard_builder builder;
    char path[80];
    builder_init(&builder);
    builder_track(&builder, 1, "main", 0);
    for (uint64_t frame = 0; frame < FRAMES; frame++) {
        uint64_t start[ROWS], duration[ROWS], site[ROWS] = {0};
        for (uint64_t row = 0; row < ROWS; row++) {
            start[row] = 1000 * frame + 10 * row + number;
            duration[row] = 5;
        }
        builder_put(&builder, TABLE_SPAN, 1, ROWS,
                    &(struct builder_rows){.columns = {start, duration, site},
                                           .first = start[0],
                                           .last = start[ROWS - 1] + 5,
                                           .events = ROWS});
    }
    const uint64_t at[2] = {7, 9}, ids[2] = {3, 3}, sites[2] = {0, 0}, phases[2] = {0, 1};
    builder_put(&builder, TABLE_ASYNC, 1, 2,
                &(struct builder_rows){
                    .columns = {at, sites, ids, phases}, .first = 7, .last = 9, .events = 1});
    builder_open(&builder, 1, 5000 + number, 0, 0);
    builder_commit(&builder, 1);
    builder_close(&builder);
    snprintf(path, sizeof(path), "%s/%04u.gait", directory, number);
    builder_save(&builder, path);
    builder_finish(&builder);
}

static struct gait_trace *open_shards(void)
{
    struct gait_trace *trace = NULL;
    snprintf(directory, sizeof(directory), "/tmp/gait-pass-XXXXXX");
    builder_must(!mkdtemp(directory), "a directory");
    for (unsigned i = 0; i < SHARDS; i++)
        save_shard(i);
    builder_must(gait_trace_open(directory, &trace), directory);
    return trace;
}

static void close_shards(struct gait_trace *trace)
{
    char path[80];
    gait_trace_close(trace);
    for (unsigned i = 0; i < SHARDS; i++) {
        snprintf(path, sizeof(path), "%s/%04u.gait", directory, i);
        unlink(path);
    }
    rmdir(directory);
}

// --- an analysis that sums and remembers the order -----------------------------------

struct totals {
    uint64_t spans, open, async_ends, starts;
    uint32_t merged[SHARDS + 1], merged_count;
    uint32_t fail_at;            // a shard, or UINT32_MAX
    uint32_t ended[SHARDS + 1];  // by shard: set in its end()
    const struct totals *before; // asked for before this one
    unsigned out_of_order;
};

struct part {
    struct totals *totals;
    uint32_t shard;
    uint64_t spans, open, async_ends, starts;
    void *held;
};

static int begin(void *opaque, const struct pass_shard *shard, void *answer)
{
    struct part *part = opaque;
    part->totals = answer;
    part->shard = shard->shard;
    part->held = malloc(16);
    struct gait_shard_info info; // may be asked for from every thread
    if (gait_trace_shard(shard->trace, shard->shard, &info))
        return GAIT_ERR_MISSING;
    if (shard->shard == part->totals->fail_at)
        return fail(GAIT_ERR_MEMORY, "shard %u is too much", shard->shard);
    return 0;
}

static int rows(void *opaque, const struct gait_batch *batch)
{
    struct part *part = opaque;
    for (size_t i = 0; i < batch->rows; i++) {
        if (batch->kind == GAIT_KIND_ASYNC) {
            part->async_ends += batch->phase[i] == 1;
            continue;
        }
        part->open += batch->duration_ns[i] < 0;
        part->spans++;
        part->starts += (uint64_t)batch->start_ns[i];
    }
    return 0;
}

static int end(void *opaque)
{
    struct part *part = opaque;
    if (part->totals->before && !part->totals->before->ended[part->shard])
        part->totals->out_of_order++;
    part->totals->ended[part->shard] = 1;
    return 0;
}

static int merge(void *answer, void *opaque)
{
    struct totals *totals = answer;
    const struct part *part = opaque;
    totals->merged[totals->merged_count++] = part->shard;
    totals->spans += part->spans;
    totals->open += part->open;
    totals->async_ends += part->async_ends;
    totals->starts += part->starts;
    return 0;
}

static unsigned drops;

static void drop(void *opaque)
{
    struct part *part = opaque;
    if (part->held)
        __atomic_add_fetch(&drops, 1, __ATOMIC_RELAXED);
    free(part->held);
}

static const struct analysis summing = {
    .name = "summing",
    .kinds = 1u << GAIT_KIND_SPAN | 1u << GAIT_KIND_ASYNC,
    .columns = GAIT_COLUMN_START | GAIT_COLUMN_DURATION | GAIT_COLUMN_PHASE,
    .part_bytes = sizeof(struct part),
    .begin = begin,
    .rows = rows,
    .end = end,
    .merge = merge,
    .drop = drop,
};

static bool wants_none(const void *part, enum gait_kind kind, uint32_t track)
{
    (void)part;
    (void)kind;
    (void)track;
    return false;
}

static uint64_t all_starts(void)
{
    uint64_t sum = 0;
    for (uint64_t shard = 0; shard < SHARDS; shard++) {
        for (uint64_t i = 0; i < (uint64_t)FRAMES * ROWS; i++)
            sum += 1000 * (i / ROWS) + 10 * (i % ROWS) + shard;
        sum += 5000 + shard;
    }
    return sum;
}

// --- what it must show ----------------------------------------------------------------

TEST("pass: two who ask see all rows, each frame is decoded once, answers merge in order")
{
    struct gait_trace *trace = open_shards();
    static struct totals first, second;
    first = (struct totals){.fail_at = UINT32_MAX};
    second = (struct totals){.fail_at = UINT32_MAX, .before = &first};
    const struct pass_ask asks[] = {{&summing, &first}, {&summing, &second}};
    drops = 0;
    ok(!pass_run(trace, asks, 2));
    is_u64(first.spans, SHARDS * (FRAMES * ROWS + 1));
    is_u64(first.open, SHARDS);
    is_u64(first.async_ends, SHARDS);
    is_u64(first.starts, all_starts());
    is_u64(second.starts, first.starts);
    is_u64(most_decodes(trace), 1);
    is_u64(drops, 2 * SHARDS);
    is_u64(second.out_of_order, 0);
    unsigned disorder = 0;
    for (uint32_t i = 0; i < SHARDS; i++)
        disorder += first.merged[i] != i;
    is_u64(disorder, 0);
    close_shards(trace);
}

TEST("pass: a frame that nobody wants is not decoded")
{
    struct gait_trace *trace = open_shards();
    static struct totals totals;
    struct analysis choosy = summing;
    choosy.wants = wants_none;
    totals = (struct totals){.fail_at = UINT32_MAX};
    const struct pass_ask ask = {&choosy, &totals};
    ok(!pass_run(trace, &ask, 1));
    is_u64(totals.spans, 0);
    is_u64(most_decodes(trace), 0);
    is_u64(totals.merged_count, SHARDS);
    close_shards(trace);
}

TEST("pass: the first failure ends it with its story, and every part is dropped")
{
    struct gait_trace *trace = open_shards();
    static struct totals totals;
    totals = (struct totals){.fail_at = 17};
    const struct pass_ask ask = {&summing, &totals};
    drops = 0;
    is_int(pass_run(trace, &ask, 1), GAIT_ERR_MEMORY);
    is_str(fail_text(), "shard 17 is too much");
    ok(totals.merged_count <= 17);
    ok(drops >= totals.merged_count && drops <= SHARDS);
    close_shards(trace);
}

TEST("pass: one shard alone")
{
    struct gait_trace *trace = open_shards();
    static struct totals totals;
    totals = (struct totals){.fail_at = UINT32_MAX};
    const struct pass_ask ask = {&summing, &totals};
    ok(!pass_run_shard(trace, 5, &ask, 1));
    is_u64(totals.spans, FRAMES * ROWS + 1);
    is_u64(totals.merged[0], 5);
    is_int(pass_run_shard(trace, SHARDS, &ask, 1), GAIT_ERR_ARGUMENT);
    close_shards(trace);
}

TEST("pass: a damaged frame is left out and noted in the order of the shards")
{
    struct gait_trace *trace = open_shards();
    static struct totals totals;
    totals = (struct totals){.fail_at = UINT32_MAX};
    const struct pass_ask ask = {&summing, &totals};
    for (uint32_t i = 3; i < 6; i++) { // behind the back of the list: the header stays
        const struct frame_list *list = &trace->run.shards[i]->shard.list;
        char path[80];
        snprintf(path, sizeof(path), "%s/%04u.gait", directory, i);
        FILE *file = fopen(path, "r+b");
        size_t frame = 0;
        while (list->entries[frame].table != TABLE_SPAN)
            frame++;
        const long at = (long)list->entries[frame].offset + FRAME_HEADER_BYTES;
        builder_must(!file || fseek(file, at, SEEK_SET), path);
        fputs("damaged", file);
        fclose(file);
    }
    ok(!pass_run(trace, &ask, 1));
    is_u64(totals.spans, SHARDS * (FRAMES * ROWS + 1) - 3 * ROWS);
    is_u64(gait_trace_damage_count(trace), 3);
    for (uint32_t i = 0; i < 3; i++) {
        struct gait_damage_info damage;
        char name[20];
        snprintf(name, sizeof(name), "/%04u.gait", i + 3);
        ok(!gait_trace_damage(trace, i, &damage) && strstr(damage.path, name));
    }
    close_shards(trace);
}
