// SPDX-License-Identifier: Apache-2.0
// Order and content of what a cursor and a scan serve, against an oracle that
// keeps every row in memory and sorts: random shards with late rows, spans
// that end frames later, several tracks and clocks, begins without ends.
#define _GNU_SOURCE
#include "load/run.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/shard_builder.h"
#include "support/tap.h"

enum { TRACKS = 4, SITES = 5, MAX_WANTED = 200000 };

// What must come out, and what its place in the order depends on.
struct wanted {
    int64_t start_ns, duration_ns, value;
    uint64_t tick, id, depth;
    uint32_t track, site, frame, row;
    int rank;
    enum gait_kind kind;
    bool is_end; // of an asynchronous span: no event
};

static struct wanted wanted[MAX_WANTED];
static size_t wanted_count;
static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % below;
}

// Track 1 and 2 have clock 0, the others clock 1: two ticks a nanosecond.
static int64_t ns_of(uint64_t track, uint64_t tick)
{
    return track < 2 ? (int64_t)tick : (int64_t)(tick / 2) + 1000;
}

static int compare_wanted(const void *left, const void *right)
{
    const struct wanted *a = left;
    const struct wanted *b = right;
    const int64_t keys[][2] = {{a->start_ns, b->start_ns},
                               {a->track, b->track},
                               {(int64_t)a->tick, (int64_t)b->tick},
                               {a->rank, b->rank},
                               {(int64_t)a->depth, (int64_t)b->depth},
                               {a->frame, b->frame},
                               {a->row, b->row}};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static int compare_numbers(const void *left, const void *right)
{
    const uint64_t *a = left;
    const uint64_t *b = right;

    return *a < *b ? -1 : *a > *b;
}

enum { ROWS = 40 };

// Columns of a frame in the making: what they mean depends on the table.
struct random_frame {
    enum table_id table;
    uint32_t track;
    uint64_t columns[4][ROWS];
    struct builder_rows about;
};

// A span or a step in row `i`; returns its last tick.
static uint64_t fill_lasting(struct random_frame *frame, uint32_t i, struct wanted *want)
{
    const uint64_t *start = frame->columns[0];
    uint64_t duration = next_random(10) ? next_random(50) : next_random(5000);

    frame->columns[1][i] = duration;
    want->duration_ns = ns_of(frame->track, start[i] + duration) - want->start_ns;
    if (frame->table == TABLE_STEP) {
        want->kind = GAIT_KIND_STEP;
        want->id = frame->columns[2][i] = next_random(30);
        return start[i] + duration;
    }
    want->kind = GAIT_KIND_SPAN;
    want->site = (uint32_t)(frame->columns[2][i] = 1 + next_random(SITES));
    // rows of equal start keep their place, so depth may not disagree
    want->depth = i && start[i] == start[i - 1] ? frame->columns[3][i - 1] + 1 : next_random(3);
    frame->columns[3][i] = want->depth;
    return start[i] + duration;
}

static void fill_point(struct random_frame *frame, uint32_t i, struct wanted *want)
{
    want->site = (uint32_t)(frame->columns[1][i] = 1 + next_random(SITES));
    want->kind = GAIT_KIND_MARK;
    if (frame->table == TABLE_COUNTER) {
        want->kind = GAIT_KIND_COUNTER;
        want->value = (int64_t)(frame->columns[2][i] = next_random(30));
    }
    if (frame->table == TABLE_ASYNC) {
        want->kind = GAIT_KIND_ASYNC;
        want->id = frame->columns[2][i] = next_random(30);
        frame->columns[3][i] = next_random(2);
        want->is_end = frame->columns[3][i] != 0;
        want->duration_ns = -1;
    }
    frame->about.events += !want->is_end;
}

static void put_random(struct shard_builder *builder, struct random_frame *frame, uint32_t rows)
{
    static const uint16_t column_counts[TABLE_COUNT] = {[TABLE_STEP] = 3,
                                                        [TABLE_SPAN] = 4,
                                                        [TABLE_ASYNC] = 4,
                                                        [TABLE_MARK] = 2,
                                                        [TABLE_COUNTER] = 3};

    for (uint16_t i = 0; i < column_counts[frame->table]; i++)
        frame->about.columns[i] = frame->columns[i];
    builder_put(builder, frame->table, frame->track + 1, rows, &frame->about);
}

// One frame of random rows. Starts are in order unless `is_late`.
static void add_frame(struct shard_builder *builder, struct random_frame *frame, uint64_t around,
                      bool is_late)
{
    static const int ranks[TABLE_COUNT] = {[TABLE_STEP] = 0,
                                           [TABLE_SPAN] = 1,
                                           [TABLE_ASYNC] = 2,
                                           [TABLE_MARK] = 4,
                                           [TABLE_COUNTER] = 5};
    uint32_t rows = 1 + (uint32_t)next_random(ROWS);
    uint64_t *start = frame->columns[0];

    frame->about = (struct builder_rows){.first = UINT64_MAX};
    for (uint32_t i = 0; i < rows; i++)
        start[i] = around + next_random(is_late ? 3000 : 400);
    if (!is_late)
        qsort(start, rows, sizeof(*start), compare_numbers);
    for (uint32_t i = 0; i < rows; i++) {
        struct wanted want = {.start_ns = ns_of(frame->track, start[i]),
                              .tick = start[i],
                              .track = frame->track,
                              .frame = (uint32_t)builder->out.tables.sequence,
                              .row = i,
                              .rank = ranks[frame->table]};
        uint64_t last = start[i];

        if (frame->table == TABLE_SPAN || frame->table == TABLE_STEP)
            last = fill_lasting(frame, i, &want);
        else
            fill_point(frame, i, &want);
        frame->about.first = start[i] < frame->about.first ? start[i] : frame->about.first;
        frame->about.last = last > frame->about.last ? last : frame->about.last;
        wanted[wanted_count++] = want;
    }
    put_random(builder, frame, rows);
}

// Latest begin of the same site and id first.
static void pair_wanted(void)
{
    for (size_t i = 0; i < wanted_count; i++) {
        if (!wanted[i].is_end)
            continue;
        for (size_t k = i; k-- > 0;) {
            struct wanted *begin = &wanted[k];

            if (begin->kind != GAIT_KIND_ASYNC || begin->is_end || begin->duration_ns >= 0 ||
                begin->site != wanted[i].site || begin->id != wanted[i].id)
                continue;
            begin->duration_ns = wanted[i].start_ns - begin->start_ns;
            break;
        }
    }
}

static void drop_ends(void)
{
    size_t kept = 0;

    for (size_t i = 0; i < wanted_count; i++)
        if (!wanted[i].is_end)
            wanted[kept++] = wanted[i];
    wanted_count = kept;
}

static void build_random(struct shard_builder *builder, int frames)
{
    static const enum table_id tables[] = {TABLE_SPAN, TABLE_SPAN,    TABLE_MARK,
                                           TABLE_STEP, TABLE_COUNTER, TABLE_ASYNC};

    builder_init(builder);
    wanted_count = 0;
    for (uint64_t i = 1; i <= SITES; i++) {
        char name[8];

        snprintf(name, sizeof(name), "s%d", (int)i);
        builder_string(builder, i, name);
        builder_site(builder, i, 0, i);
    }
    for (uint64_t i = 0; i < TRACKS; i++)
        builder_track(builder, i + 1, "t", i < 2 ? 0 : 1);
    builder_anchor(builder, 0, 5000, 1000);
    builder_anchor(builder, 400000000, 200005000, 200001000);
    for (int i = 0; i < frames; i++) {
        struct random_frame frame = {.table = tables[next_random(6)],
                                     .track = (uint32_t)next_random(TRACKS)};

        add_frame(builder, &frame, (uint64_t)i * 100 + 1, next_random(5) == 0);
    }
    for (uint64_t track = 1; track <= TRACKS; track++) {
        uint64_t start = next_random(2000);

        builder_open(builder, track, start, 1, 0);
        builder_commit(builder, track);
        wanted[wanted_count++] = (struct wanted){.kind = GAIT_KIND_SPAN,
                                                 .start_ns = ns_of(track - 1, start),
                                                 .tick = start,
                                                 .duration_ns = -1,
                                                 .track = (uint32_t)track - 1,
                                                 .site = 1,
                                                 .rank = 1,
                                                 .frame = 0};
    }
    builder_close(builder);
    qsort(wanted, wanted_count, sizeof(*wanted), compare_wanted);
    pair_wanted();
    drop_ends();
}

static bool is_wanted(const struct gait_query *query, const struct wanted *want)
{
    bool is_listed = !query->tracks;

    for (uint32_t i = 0; i < query->track_count; i++)
        is_listed = is_listed || query->tracks[i] == want->track;
    if (!is_listed || (query->kinds && !(query->kinds >> want->kind & 1)))
        return false;
    if (query->until_ns && want->start_ns >= query->until_ns)
        return false;
    return !query->since_ns || want->start_ns >= query->since_ns || want->duration_ns < 0 ||
           want->start_ns + want->duration_ns > query->since_ns;
}

static bool is_same(const struct gait_event *event, const struct wanted *want)
{
    return event->kind == want->kind && event->start_ns == want->start_ns &&
           event->duration_ns == want->duration_ns && event->track == want->track &&
           event->site == want->site && event->depth == want->depth && event->id == want->id &&
           event->value == want->value;
}

static uint64_t count_wrong(struct run *run, const struct gait_query *query)
{
    struct gait_cursor *cursor = NULL;
    struct gait_event event;
    uint64_t wrong = 0;
    size_t at = 0;
    int got;

    if (gait_cursor_open((struct gait_trace *)run, query, &cursor))
        return UINT64_MAX;
    while ((got = gait_cursor_next(cursor, &event)) == 1) {
        while (at < wanted_count && !is_wanted(query, &wanted[at]))
            at++;
        wrong += at == wanted_count || !is_same(&event, &wanted[at]);
        at++;
    }
    while (at < wanted_count && !is_wanted(query, &wanted[at]))
        at++;
    gait_cursor_close(cursor);
    return wrong + (at != wanted_count) + (got != 0);
}

// A scan serves the same events in another order: sums tell them apart.
struct sums {
    uint64_t rows, hash;
    int64_t unordered;
};

static uint64_t mix(uint64_t hash)
{
    hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdu;
    return hash ^ (hash >> 29);
}

static uint64_t hash_event(const uint64_t parts[8])
{
    uint64_t hash = 0;

    for (int i = 0; i < 8; i++)
        hash = mix(hash + parts[i] * 0x9e3779b97f4a7c15u);
    return hash;
}

static int add_batch(const struct gait_batch *batch, void *context)
{
    struct sums *sums = context;

    for (size_t i = 0; i < batch->rows; i++) {
        const uint64_t parts[8] = {batch->kind,
                                   batch->track,
                                   (uint64_t)batch->start_ns[i],
                                   (uint64_t)batch->duration_ns[i],
                                   batch->site[i],
                                   batch->depth[i],
                                   batch->id[i],
                                   (uint64_t)batch->value[i]};

        sums->rows++;
        sums->hash += hash_event(parts);
        sums->unordered += i && batch->start_ns[i] < batch->start_ns[i - 1];
    }
    return 0;
}

static bool scan_is_right(struct run *run, const struct gait_query *query)
{
    struct sums got = {0}, want = {0};

    for (size_t i = 0; i < wanted_count; i++) {
        const struct wanted *w = &wanted[i];
        const uint64_t parts[8] = {
            w->kind,  w->track, (uint64_t)w->start_ns, (uint64_t)w->duration_ns, w->site,
            w->depth, w->id,    (uint64_t)w->value};

        if (!is_wanted(query, w))
            continue;
        want.rows++;
        want.hash += hash_event(parts);
    }
    if (gait_scan((struct gait_trace *)run, query, 63, add_batch, &got))
        return false;
    return got.rows == want.rows && got.hash == want.hash && !got.unordered;
}

static struct slice shard_of(const struct shard_builder *builder)
{
    return (struct slice){builder->out.memory.bytes, builder->out.memory.used};
}

TEST("cursor: order and content are those of sorting everything, scans serve the same")
{
    struct gait_query all = {.size = sizeof(all)};
    uint64_t wrong = 0, scans_wrong = 0, counts_wrong = 0;

    for (int round = 0; round < 60; round++) {
        struct shard_builder builder;
        struct run run;

        build_random(&builder, 1 + round * 2);
        if (!ok(!run_open_memory(&run, shard_of(&builder))))
            return;
        is_u64(run.damage.count, 0);
        wrong += count_wrong(&run, &all);
        scans_wrong += !scan_is_right(&run, &all);
        counts_wrong += run.shards[0]->info.events != wanted_count;
        run_close(&run);
        builder_finish(&builder);
    }
    is_u64(wrong, 0);
    is_u64(scans_wrong, 0);
    is_u64(counts_wrong, 0);
}

TEST("cursor: with little memory, windows of rows and of begins give the same events")
{
    struct gait_query all = {.size = sizeof(all)};
    uint64_t wrong = 0;

    for (int round = 0; round < 10; round++) {
        struct shard_builder builder;
        struct run run;

        build_random(&builder, 300);
        if (!ok(!run_open_memory(&run, shard_of(&builder))))
            return;
        run.merge_bytes = 4096u << round; // from less than a frame to all of them
        run.async_begins = (size_t)1 << round;
        wrong += count_wrong(&run, &all);
        run_close(&run);
        builder_finish(&builder);
    }
    is_u64(wrong, 0);
}

TEST("cursor: queries by kind, track and time find what the oracle finds")
{
    struct shard_builder builder;
    uint64_t wrong = 0, scans_wrong = 0;
    struct run run;

    build_random(&builder, 150);
    if (!ok(!run_open_memory(&run, shard_of(&builder))))
        return;
    for (int round = 0; round < 200; round++) {
        uint32_t tracks[2] = {(uint32_t)next_random(TRACKS), (uint32_t)next_random(TRACKS)};
        struct gait_query query = {.size = sizeof(query)};

        if (next_random(2))
            query.kinds = (uint32_t)next_random(64);
        if (next_random(2))
            query.since_ns = 1 + (int64_t)next_random(16000);
        if (next_random(2))
            query.until_ns = 1 + (int64_t)next_random(16000);
        if (next_random(2)) {
            query.tracks = tracks;
            query.track_count = 1 + (uint32_t)next_random(2);
        }
        wrong += count_wrong(&run, &query);
        scans_wrong += !scan_is_right(&run, &query);
    }
    is_u64(wrong, 0);
    is_u64(scans_wrong, 0);
    run_close(&run);
    builder_finish(&builder);
}

TEST("cursor: a query of another size or of an unknown track is refused")
{
    struct gait_query query = {.size = 8};
    struct shard_builder builder;
    struct gait_cursor *cursor = NULL;
    uint32_t track = TRACKS;
    struct run run;

    build_random(&builder, 2);
    if (!ok(!run_open_memory(&run, shard_of(&builder))))
        return;
    is_int(gait_cursor_open((struct gait_trace *)&run, &query, &cursor), GAIT_ERR_ARGUMENT);
    query = (struct gait_query){.size = sizeof(query), .tracks = &track, .track_count = 1};
    is_int(gait_cursor_open((struct gait_trace *)&run, &query, &cursor), GAIT_ERR_MISSING);
    ok(!cursor);
    run_close(&run);
    builder_finish(&builder);
}

static int stop_at_once(const struct gait_batch *batch, void *context)
{
    *(uint64_t *)context += batch->rows > 0;
    return 7;
}

TEST("cursor: a visitor that says stop ends the scan with its word")
{
    struct shard_builder builder;
    uint64_t batches = 0;
    struct run run;

    build_random(&builder, 20);
    if (!ok(!run_open_memory(&run, shard_of(&builder))))
        return;
    is_int(gait_scan((struct gait_trace *)&run, NULL, 0, stop_at_once, &batches), 7);
    is_u64(batches, 1);
    run_close(&run);
    builder_finish(&builder);
}

// --- memory ---------------------------------------------------------------------

enum { BIG_FRAMES = 500, BIG_ROWS = 20000 };

// Ten million spans. With `is_hostile`, every frame also begins at tick 0, so
// that all of them are due at once.
static void build_big(struct shard_builder *builder, bool is_hostile)
{
    static uint64_t start[BIG_ROWS], duration[BIG_ROWS], site[BIG_ROWS];

    builder_init(builder);
    builder_track(builder, 1, "t", 0);
    for (uint64_t frame = 0; frame < BIG_FRAMES; frame++) {
        for (uint64_t i = 0; i < BIG_ROWS; i++) {
            start[i] = is_hostile ? i * 10 : (frame * BIG_ROWS + i) * 10;
            duration[i] = 5;
        }
        builder_put(builder, TABLE_SPAN, 1, BIG_ROWS,
                    &(struct builder_rows){.columns = {start, duration, site},
                                           .first = start[0],
                                           .last = start[BIG_ROWS - 1] + 5,
                                           .events = BIG_ROWS});
    }
    builder_close(builder);
}

// Reads it all in a process of its own; returns the growth of memory in MiB.
static int measure_growth(const char *path)
{
    struct gait_cursor *cursor = NULL;
    struct gait_event event;
    struct rusage before, after;
    uint64_t count = 0;
    struct run run;

    getrusage(RUSAGE_SELF, &before);
    if (run_open(&run, path) || gait_cursor_open((struct gait_trace *)&run, NULL, &cursor))
        return 255;
    while (gait_cursor_next(cursor, &event) == 1)
        count++;
    gait_cursor_close(cursor);
    run_close(&run);
    getrusage(RUSAGE_SELF, &after);
    if (count != (uint64_t)BIG_FRAMES * BIG_ROWS)
        return 254;
    return (int)((after.ru_maxrss - before.ru_maxrss) >> 10);
}

static int growth_of(bool is_hostile)
{
    char path[] = "/tmp/gait-big-XXXXXX";
    struct shard_builder builder;
    int descriptor = mkstemp(path);
    int status = 0;
    pid_t child;

    if (descriptor < 0)
        return -1;
    close(descriptor);
    child = fork(); // the builder's memory must not hide the reader's
    if (!child) {
        build_big(&builder, is_hostile);
        builder_save(&builder, path);
        _exit(0);
    }
    waitpid(child, &status, 0);
    child = fork();
    if (!child)
        _exit(measure_growth(path));
    waitpid(child, &status, 0);
    unlink(path);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST("cursor: ten million events pass through little memory")
{
    int growth = growth_of(false);

    printf("# grew by %d MiB\n", growth);
    ok(growth >= 0 && growth < 24);
}

TEST("cursor: frames that all begin at once do not fill the memory")
{
    int growth = growth_of(true);

    printf("# grew by %d MiB\n", growth);
    ok(growth >= 0 && growth < 200); // 480 MiB decoded
}
