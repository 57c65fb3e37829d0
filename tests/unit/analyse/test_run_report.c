// SPDX-License-Identifier: Apache-2.0
// The report of a planted job of two ranks: what it adds up to, and how often it reads.
#define _GNU_SOURCE
#include "analyse/report/run_report.h"

#include <unistd.h>

#include "analyse/report/torch_report.h"
#include "load/run.h"
#include "support/frame_decodes.h"
#include "support/shard_builder.h"
#include "support/tap.h"

enum { RANKS = 2, STEPS = 6, STEP_NS = 1000, START_NS = 1000000 };

// Texts, then sites: both by number.
static const char *const texts[] = {"phase",  "input",    "forward",      "backward", "optimizer",
                                    "asks",   "got",      "steps",        "cpu_op",   "torch",
                                    "window", "aten::mm", "communication"};
enum text { PHASE = 1, INPUT, FORWARD, BACKWARD, OPTIMIZER, ASKS, GOT, STEPS_KEY };
enum { CPU_OP = 9, TORCH, WINDOW, MM, COMMUNICATION };
enum site {
    SITE_INPUT = 1,
    SITE_FORWARD,
    SITE_BACKWARD,
    SITE_OPTIMIZER,
    SITE_MM,
    SITE_WINDOW,
    SITE_WAIT
};

struct span {
    uint64_t start, duration, site, depth;
    struct slice args;
};

static char directory[40];

static struct slice integers(struct buffer *text, uint32_t first, uint32_t second)
{
    const struct args_item items[2] = {{.key = first, .kind = ARGS_INT, .integer = 1},
                                       {.key = second, .kind = ARGS_INT, .integer = 1}};
    buffer_init(text, 1000);
    builder_must(args_append(text, &items[0]), "args");
    builder_must(second && args_append(text, &items[1]), "args");
    return (struct slice){text->bytes, text->used};
}

static void put_spans(struct shard_builder *builder, const struct span *spans, size_t count)
{
    uint64_t columns[4][8];
    struct slice args[8];
    for (size_t i = 0; i < count; i++) {
        columns[0][i] = spans[i].start;
        columns[1][i] = spans[i].duration;
        columns[2][i] = spans[i].site;
        columns[3][i] = spans[i].depth;
        args[i] = spans[i].args;
    }
    builder_put(builder, TABLE_SPAN, 1, (uint32_t)count,
                &(struct builder_rows){.columns = {columns[0], columns[1], columns[2], columns[3]},
                                       .bytes = {NULL, NULL, NULL, NULL, args},
                                       .first = spans[0].start,
                                       .last = spans[count - 1].start + spans[count - 1].duration,
                                       .events = (uint32_t)count});
}

// Of 1,000 ns: 100 input, 200 forward with an op of 50, 300 backward and 200 waiting for
// rank 1 (which computes for 400 and waits for 100), 100 optimizer; a frame a step.
static void put_steps(struct shard_builder *builder, uint64_t rank)
{
    struct buffer asked, stepped;
    const struct slice asks = integers(&asked, ASKS, GOT), steps = integers(&stepped, STEPS_KEY, 0);
    for (uint64_t i = 0; i < STEPS; i++) {
        const uint64_t at = START_NS + i * STEP_NS;
        const struct span spans[] = {{at, 100, SITE_INPUT, 0, asks},
                                     {at + 100, 200, SITE_FORWARD, 0, {0}},
                                     {at + 110, 50, SITE_MM, 1, {0}},
                                     {at + 300, 300 + 100 * rank, SITE_BACKWARD, 0, {0}},
                                     {at + 600 + 100 * rank, 200 - 100 * rank, SITE_WAIT, 0, {0}},
                                     {at + 800, 100, SITE_OPTIMIZER, 0, steps}};
        put_spans(builder, spans, sizeof(spans) / sizeof(spans[0]));
    }
    buffer_finish(&asked);
    buffer_finish(&stepped);
}

static void put_window(struct shard_builder *builder)
{
    const uint64_t at[2] = {START_NS, START_NS + STEPS * STEP_NS}, ids[2] = {7, 7};
    const uint64_t sites[2] = {SITE_WINDOW, SITE_WINDOW}, phases[2] = {0, 1};
    builder_put(
        builder, TABLE_ASYNC, 1, 2,
        &(struct builder_rows){
            .columns = {at, sites, ids, phases}, .first = at[0], .last = at[1], .events = 1});
}

static void save_rank(uint64_t rank)
{
    static const uint64_t sites[][2] = {{PHASE, INPUT},        {PHASE, FORWARD}, {PHASE, BACKWARD},
                                        {PHASE, OPTIMIZER},    {CPU_OP, MM},     {TORCH, WINDOW},
                                        {PHASE, COMMUNICATION}};
    struct shard_builder builder;
    char text[80];
    builder_init(&builder);
    snprintf(text, sizeof(text), "%u", (unsigned)rank);
    builder_meta(&builder, "rank", text);
    builder_meta(&builder, "torch", "{\"version\": \"2.13.0\"}");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        builder_string(&builder, i + 1, texts[i]);
    for (size_t i = 0; i < sizeof(sites) / sizeof(sites[0]); i++)
        builder_site(&builder, i + 1, sites[i][0], sites[i][1]);
    builder_track(&builder, 1, "main", 0);
    put_window(&builder);
    put_steps(&builder, rank);
    builder_commit(&builder, 1);
    builder_close(&builder);
    snprintf(text, sizeof(text), "%s/%u.gait", directory, (unsigned)rank);
    builder_save(&builder, text);
    builder_finish(&builder);
}

static struct gait_trace *open_job(void)
{
    struct gait_trace *trace = NULL;
    snprintf(directory, sizeof(directory), "/tmp/gait-report-XXXXXX");
    builder_must(!mkdtemp(directory), "a directory");
    for (uint64_t rank = 0; rank < RANKS; rank++)
        save_rank(rank);
    builder_must(gait_trace_open(directory, &trace), directory);
    for (uint64_t rank = 0; rank < RANKS; rank++) {
        char path[80];
        snprintf(path, sizeof(path), "%s/%u.gait", directory, (unsigned)rank);
        unlink(path); // it stays open
    }
    rmdir(directory);
    return trace;
}

TEST("run report: a job's ledger is the slowest rank's and sums up")
{
    struct gait_trace *trace = open_job();
    struct run_report report;
    if (!ok(!run_report_make(&report, trace)) || !ok(report.torch != NULL))
        return;
    const struct torch_report *torch = report.torch;
    is_u64(report.rank_count, RANKS);
    is_u64(report.steps.count, STEPS);
    is_u64(torch->totals[TORCH_INPUT], STEPS * 100);
    is_u64(torch->totals[TORCH_FORWARD], STEPS * 200);
    is_u64(torch->totals[TORCH_BACKWARD], STEPS * 400); // rank 1 has the most work
    is_u64(torch->totals[TORCH_OPTIMIZER], STEPS * 100);
    uint64_t sum = 0;
    for (unsigned i = 0; i < torch->phases.count; i++)
        sum += torch->totals[i];
    is_u64(sum, report.ledger.total_ns);
    is_u64(torch->ranks[0].phases[TORCH_BACKWARD], STEPS * 300);
    is_u64(torch->ranks[1].phases[TORCH_BACKWARD], STEPS * 400);
    is_u64(torch->ranks[0].recorded, STEPS);
    is_u64(torch->ops.count, 1);
    is_u64(torch->ops.self_ns, STEPS * 50); // of rank 0 alone
    run_report_finish(&report);
    gait_trace_close(trace);
}

TEST("run report: no frame is decoded more than twice")
{
    struct gait_trace *trace = open_job();
    struct run_report report;
    ok(!run_report_make(&report, trace));
    is_u64(most_decodes(trace), 2);
    run_report_finish(&report);
    gait_trace_close(trace);
}
