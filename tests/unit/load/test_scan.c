// SPDX-License-Identifier: Apache-2.0
// What a scan shows and what it does not, what it allocates (nothing, once it
// runs), and how each table becomes an event.
#define _GNU_SOURCE
#include "load/run.h"

#include <math.h>

#include "support/shard_builder.h"
#include "support/tap.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_OWN_ALLOCATOR 1
#else
#define HAS_OWN_ALLOCATOR 0

void *__libc_malloc(size_t size);
void *__libc_realloc(void *old, size_t size);
#endif

static long allocations;

#if !HAS_OWN_ALLOCATOR
void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

void *realloc(void *old, size_t size)
{
    allocations++;
    return __libc_realloc(old, size);
}
#endif

static struct slice shard_of(const struct shard_builder *builder)
{
    return (struct slice){builder->out.memory.bytes, builder->out.memory.used};
}

struct seen {
    uint64_t batches, rows;
    long allocations_at_third; // batch
    long allocations_at_last;
    struct gait_batch last;
};

static int see(const struct gait_batch *batch, void *context)
{
    struct seen *seen = context;

    seen->batches++;
    seen->rows += batch->rows;
    seen->last = *batch;
    if (seen->batches == 3)
        seen->allocations_at_third = allocations;
    seen->allocations_at_last = allocations;
    return 0;
}

TEST("scan: frame after frame costs no allocation")
{
    enum { FRAMES = 50, ROWS = 1000 };
    static uint64_t start[ROWS], duration[ROWS], site[ROWS];
    struct shard_builder builder;
    struct gait_trace trace;
    struct seen seen = {0};

    if (HAS_OWN_ALLOCATOR) {
        skip("the sanitizer brings an allocator of its own");
        return;
    }
    builder_init(&builder);
    for (uint64_t frame = 0; frame < FRAMES; frame++) {
        for (uint64_t i = 0; i < ROWS; i++) {
            start[i] = frame * 100000 + i * 100;
            duration[i] = i % 300;
            site[i] = i % 7;
        }
        builder_put(&builder, TABLE_SPAN, 1, ROWS,
                    &(struct builder_rows){.columns = {start, duration, site},
                                           .first = frame * 100000,
                                           .last = (frame + 1) * 100000 + 300,
                                           .events = ROWS});
    }
    builder_close(&builder);
    if (!ok(!run_open_memory(&trace.run, shard_of(&builder))))
        return;
    ok(!gait_scan(&trace, NULL, 7, see, &seen));
    is_u64(seen.rows, FRAMES * ROWS);
    is_int(seen.allocations_at_last - seen.allocations_at_third, 0);
    run_close(&trace.run);
    builder_finish(&builder);
}

TEST("scan: columns that were not asked for are not there, those that a table lacks are zero")
{
    struct shard_builder builder;
    struct gait_trace trace;
    struct seen seen = {0};
    uint64_t start = 9, site = 0;

    builder_init(&builder);
    builder_put(
        &builder, TABLE_MARK, 1, 1,
        &(struct builder_rows){.columns = {&start, &site}, .first = 9, .last = 9, .events = 1});
    builder_close(&builder);
    if (!ok(!run_open_memory(&trace.run, shard_of(&builder))))
        return;
    ok(!gait_scan(&trace, NULL, GAIT_COLUMN_DURATION | GAIT_COLUMN_ID, see, &seen));
    is_u64(seen.rows, 1);
    is_int(seen.last.kind, GAIT_KIND_MARK);
    ok(!seen.last.start_ns && !seen.last.site && !seen.last.depth && !seen.last.value);
    ok(seen.last.duration_ns && seen.last.id);
    ok(!gait_scan(&trace, NULL, 0, see, &seen));
    ok(!seen.last.duration_ns && !seen.last.id);
    is_u64(seen.rows, 2);
    run_close(&trace.run);
    builder_finish(&builder);
}

static struct {
    int64_t values[5];
    size_t count;
} rounded;

static int keep_values(const struct gait_batch *batch, void *context)
{
    (void)context;
    for (size_t i = 0; i < batch->rows && rounded.count < 5; i++)
        rounded.values[rounded.count++] = batch->value[i];
    return 0;
}

TEST("scan: a real counter's value is rounded toward zero, whatever it is")
{
    const double reals[5] = {2.9, -2.9, 1e300, -INFINITY, NAN};
    uint64_t start[5] = {1, 2, 3, 4, 5}, values[5];
    struct shard_builder builder;
    struct gait_trace trace;

    memcpy(values, reals, sizeof(values));
    builder_init(&builder);
    builder_put(&builder, TABLE_COUNTER_REAL, 1, 5,
                &(struct builder_rows){
                    .columns = {start, NULL, values}, .first = 1, .last = 5, .events = 5});
    builder_close(&builder);
    if (!ok(!run_open_memory(&trace.run, shard_of(&builder))))
        return;
    ok(!gait_scan(&trace, NULL, GAIT_COLUMN_VALUE, keep_values, NULL));
    is_u64(rounded.count, 5);
    is_int(rounded.values[0], 2);
    is_int(rounded.values[1], -2);
    is_int(rounded.values[2], INT64_MAX);
    is_int(rounded.values[3], INT64_MIN);
    is_int(rounded.values[4], 0);
    run_close(&trace.run);
    builder_finish(&builder);
}

// --- how tables become events ---------------------------------------------------

static const uint64_t one = 1, two = 2, five = 5, nine = 9;
static uint64_t tick_now;

// One row of a table at the next tick, with a number in columns 1 to 3.
static void put_row(struct shard_builder *builder, enum table_id table,
                    const uint64_t *const more[], const struct slice *text)
{
    uint32_t count = schema_table(table)->own_count;
    const uint64_t now = ++tick_now;
    struct builder_rows rows = {.first = now, .last = now, .events = 1};

    rows.columns[0] = &tick_now;
    for (uint32_t i = 1; i < count; i++)
        rows.columns[i] =
            schema_holds_bytes(schema_table(table)->columns[i].type) ? NULL : more[i - 1];
    if (text)
        rows.bytes[count - 1] = text;
    builder_put(builder, table, 1, 1, &rows);
}

static void build_kinds(struct shard_builder *builder)
{
    struct slice line = slice_of("a line of log");
    uint8_t packed[] = {1, 1, 84, 1, 2, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 1, 3, 2, 'h', 'i'};
    struct slice args = {packed, sizeof(packed)}; // int 42, real 1.5, text "hi"

    tick_now = 0;
    builder_init(builder);
    builder_string(builder, 1, "name");
    builder_string(builder, 2, "reason");
    builder_site(builder, 1, 1, 1);
    builder_put(builder, TABLE_STACK, 0, 1, &(struct builder_rows){.columns = {&five, NULL, &one}});
    put_row(builder, TABLE_MARK, (const uint64_t *const[]){&one, NULL}, &args);
    put_row(builder, TABLE_FLOW, (const uint64_t *const[]){&one, &nine, &two}, NULL);
    put_row(builder, TABLE_STEP, (const uint64_t *const[]){&five, &nine}, NULL);
    put_row(builder, TABLE_DROP, (const uint64_t *const[]){&five, &nine, &two}, NULL);
    put_row(builder, TABLE_SAMPLE, (const uint64_t *const[]){&five, &nine, &two}, NULL);
    put_row(builder, TABLE_MEMORY, (const uint64_t *const[]){&two, &five, &nine, &one, &one}, NULL);
    put_row(builder, TABLE_LOG, (const uint64_t *const[]){&nine, NULL}, &line);
    builder_close(builder);
}

static void is_event(struct gait_cursor *cursor, const struct gait_event *want)
{
    struct gait_event got = {0};

    is_int(gait_cursor_next(cursor, &got), 1);
    is_int(got.kind, want->kind);
    is_str(got.name, want->name);
    is_int(got.duration_ns, want->duration_ns);
    is_u64(got.id, want->id);
    is_int(got.value, want->value);
    is_int(got.phase, want->phase);
    is_u64(got.arg_count, want->arg_count);
    for (size_t i = 0; i < got.arg_count && got.arg_count == want->arg_count; i++) {
        is_str(got.args[i].key, want->args[i].key);
        is_int(got.args[i].kind, want->args[i].kind);
        is_int(got.args[i].integer, want->args[i].integer);
        ok(got.args[i].real == want->args[i].real);
        is_str(got.args[i].text, want->args[i].text);
    }
}

TEST("scan: every kind of row becomes the event that it stands for")
{
    const struct gait_arg args[] = {{.key = "name", .kind = GAIT_ARG_INT, .integer = 42},
                                    {.key = "name", .kind = GAIT_ARG_REAL, .real = 1.5},
                                    {.key = "name", .kind = GAIT_ARG_TEXT, .text = "hi"}};
    const struct gait_arg total = {.key = "total", .kind = GAIT_ARG_INT, .integer = 1};
    const struct gait_event want[] = {
        {.kind = GAIT_KIND_MARK, .name = "name", .args = args, .arg_count = 3},
        {.kind = GAIT_KIND_FLOW, .name = "name", .id = 9, .phase = 2},
        {.kind = GAIT_KIND_STEP, .name = "", .duration_ns = 5, .id = 9},
        {.kind = GAIT_KIND_DROP, .name = "reason", .duration_ns = 5, .id = 9},
        {.kind = GAIT_KIND_SAMPLE, .name = "name", .value = 9, .phase = 2},
        {.kind = GAIT_KIND_MEMORY,
         .name = "name",
         .id = 5,
         .value = 9,
         .phase = 2,
         .args = &total,
         .arg_count = 1},
        {.kind = GAIT_KIND_LOG, .name = "a line of log", .value = 9},
    };
    struct gait_cursor *cursor = NULL;
    struct shard_builder builder;
    struct gait_trace trace;
    struct gait_event event;

    build_kinds(&builder);
    if (!ok(!run_open_memory(&trace.run, shard_of(&builder))))
        return;
    is_u64(trace.run.damage.count, 0);
    is_u64(trace.run.shards[0]->info.events, 6); // a drop is none
    is_u64(trace.run.shards[0]->info.dropped, 9);
    ok(!gait_cursor_open(&trace, NULL, &cursor));
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
        is_event(cursor, &want[i]);
    is_int(gait_cursor_next(cursor, &event), 0);
    gait_cursor_close(cursor);
    run_close(&trace.run);
    builder_finish(&builder);
}
