// SPDX-License-Identifier: Apache-2.0
// Steps first (they are few and all are kept), then the spans of the threads
// that made the chosen steps, in order of start and never all at once.
#include "analyse/ledger/run_ledger.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/ledger/ledger.h"
#include "analyse/report/run_report.h"
#include "analyse/time/span_order.h"
#include "base/buffer.h"
#include "base/fail.h"

enum { MAX_STEPS = 1 << 24 };

static const uint32_t no_ledger = UINT32_MAX;

struct pass {
    struct run_report *report;
    struct gait_trace *trace;
    struct buffer steps; // of struct step_row
    uint32_t track_count;
    uint32_t *rank_of_track; // ranks as steps_merge() wants them
    uint32_t *ledger_of;     // of a track: its place in `ledgers`, or no_ledger
    uint64_t *busy_ns;       // of a track
    int64_t *end_ns;         // of a track: where spans without an end are cut off
    struct ledger *ledgers;
    struct ledger_window *windows;
    struct ledger_sum *sums;
    uint32_t site_count;
    struct span_order order;
};

static void *take(struct pass *pass, size_t count, size_t bytes)
{
    void *memory = arena_take(&pass->report->arena, (count + 1) * bytes);
    if (memory)
        memset(memory, 0, (count + 1) * bytes);
    return memory;
}

static int no_memory(void)
{
    return fail(GAIT_ERR_MEMORY, "no memory for a report");
}

// Processes without a rank are each a rank of their own, beyond the others.
static int read_ranks(struct pass *pass)
{
    for (uint32_t i = 0; i < pass->track_count; i++) {
        struct gait_track_info track;
        struct gait_shard_info shard;
        int status = gait_trace_track(pass->trace, i, &track);
        if (!status)
            status = gait_trace_shard(pass->trace, track.shard, &shard);
        if (status)
            return status;
        bool has_rank = shard.rank >= 0 && shard.rank < INT32_MAX;
        pass->rank_of_track[i] = has_rank ? (uint32_t)shard.rank : (1u << 31) + track.shard;
        pass->end_ns[i] = shard.end_ns;
        pass->ledger_of[i] = no_ledger;
    }
    return GAIT_OK;
}

static int pass_init(struct pass *pass, struct run_report *report, struct gait_trace *trace)
{
    *pass = (struct pass){.report = report, .trace = trace};
    buffer_init(&pass->steps, MAX_STEPS * sizeof(struct step_row));
    pass->track_count = gait_trace_track_count(trace);
    pass->site_count = gait_trace_site_count(trace);
    pass->rank_of_track = take(pass, pass->track_count, sizeof *pass->rank_of_track);
    pass->ledger_of = take(pass, pass->track_count, sizeof *pass->ledger_of);
    pass->busy_ns = take(pass, pass->track_count, sizeof *pass->busy_ns);
    pass->end_ns = take(pass, pass->track_count, sizeof *pass->end_ns);
    pass->ledgers = take(pass, pass->track_count, sizeof *pass->ledgers);
    pass->sums = take(pass, pass->site_count, sizeof *pass->sums);
    if (!pass->rank_of_track || !pass->ledger_of || !pass->busy_ns || !pass->end_ns ||
        !pass->ledgers || !pass->sums)
        return no_memory();
    int status = read_ranks(pass);
    return status ? status : span_order_init(&pass->order, pass->track_count);
}

static void pass_finish(struct pass *pass)
{
    buffer_finish(&pass->steps);
    span_order_finish(&pass->order);
}

static int add_steps(const struct gait_batch *batch, void *context)
{
    struct pass *pass = context;
    if (batch->track >= pass->track_count)
        return GAIT_OK;
    for (size_t i = 0; i < batch->rows; i++) {
        int64_t end;
        if (batch->duration_ns[i] < 0) {
            pass->report->open_steps++;
            continue;
        }
        if (__builtin_add_overflow(batch->start_ns[i], batch->duration_ns[i], &end))
            continue; // no clock shows that: the file lies
        const struct step_row row = {.start_ns = batch->start_ns[i],
                                     .duration_ns = batch->duration_ns[i],
                                     .number = batch->id[i],
                                     .rank = pass->rank_of_track[batch->track],
                                     .track = batch->track};
        int status = buffer_append(&pass->steps, &row, sizeof row);
        if (status)
            return status;
    }
    return GAIT_OK;
}

static int by_track_start(const void *left, const void *right)
{
    const struct step_row *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

// One ledger a track that made chosen steps, its windows in a row.
static int by_start(const void *left, const void *right)
{
    const struct step_row *a = left, *b = right;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static int open_ledgers(struct pass *pass, struct step_row *rows, size_t count)
{
    uint32_t ledgers = 0;
    pass->windows = take(pass, count, sizeof *pass->windows);
    if (!pass->windows)
        return no_memory();
    if (count)
        qsort(rows, count, sizeof *rows, by_track_start);
    for (size_t i = 0; i < count; i++)
        pass->windows[i] = (struct ledger_window){.start_ns = rows[i].start_ns,
                                                  .end_ns = rows[i].start_ns + rows[i].duration_ns};
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from; to < count && rows[to].track == rows[from].track; to++)
            ;
        pass->ledger_of[rows[from].track] = ledgers;
        span_order_want(&pass->order, rows[from].track);
        ledger_init(&pass->ledgers[ledgers++], &pass->windows[from], to - from, pass->sums,
                    pass->site_count);
    }
    return GAIT_OK;
}

static int read_steps(struct pass *pass)
{
    struct run_report *report = pass->report;
    const struct gait_query query = {.size = sizeof query, .kinds = 1u << GAIT_KIND_STEP};
    int status =
        gait_scan(pass->trace, &query, GAIT_COLUMN_START | GAIT_COLUMN_DURATION | GAIT_COLUMN_ID,
                  add_steps, pass);
    if (status)
        return status;
    struct step_row *rows = (struct step_row *)(void *)pass->steps.bytes;
    size_t count = pass->steps.used / sizeof *rows;
    count = steps_merge(rows, count, &report->rank_count);
    int64_t *sorted = take(pass, count, sizeof *sorted);
    if (!sorted)
        return no_memory();
    report->steps = steps_summarise(rows, count, sorted);
    if (count)
        qsort(rows, count, sizeof *rows, by_start); // numbers may begin anew with each epoch
    step_curve_make(&report->step_curve, rows, count);
    report->ledger.total_ns = (uint64_t)report->steps.total_ns;
    return open_ledgers(pass, rows, count);
}

// Which of two threads says more about a run without steps.
static bool says_more(const struct report_thread *a, const struct report_thread *b)
{
    bool a_is_first = a->info.tid == a->pid, b_is_first = b->info.tid == b->pid;
    if (!a->info.events != !b->info.events)
        return a->info.events;
    if (a->rank != b->rank) // a known rank before an unknown one, then the smaller
        return (uint64_t)a->rank < (uint64_t)b->rank;
    if (a_is_first != b_is_first)
        return a_is_first;
    return a->info.events > b->info.events;
}

// Without steps, the main thread's whole life is the one window.
static int open_whole_run(struct pass *pass)
{
    struct run_report *report = pass->report;
    struct report_thread *main_thread = NULL;
    struct process_life life;
    for (size_t i = 0; i < report->thread_count; i++) {
        struct report_thread *thread = &report->threads[i];
        bool is_thread = thread->info.kind == GAIT_TRACK_THREAD;
        if (is_thread && (!main_thread || says_more(thread, main_thread)))
            main_thread = thread;
    }
    if (!main_thread)
        return GAIT_OK;
    int status = process_lives_of_track(&report->lives, pass->trace, main_thread->track, &life);
    if (status || life.end_ns <= life.start_ns)
        return status;
    main_thread->is_main = true;
    struct step_row whole = {.start_ns = life.start_ns, .track = main_thread->track};
    if (__builtin_sub_overflow(life.end_ns, life.start_ns, &whole.duration_ns))
        return GAIT_OK;
    report->ledger.total_ns = (uint64_t)whole.duration_ns;
    status = open_ledgers(pass, &whole, 1);
    pass->ledgers[0].is_whole_run = true;
    return status;
}

// Spans at depth 0 follow each other, so their lengths add up.
static void add_busy(struct pass *pass, const struct gait_batch *batch)
{
    uint64_t busy = 0;
    for (size_t i = 0; i < batch->rows; i++) {
        int64_t duration = batch->duration_ns[i];
        if (duration < 0 &&
            __builtin_sub_overflow(pass->end_ns[batch->track], batch->start_ns[i], &duration))
            duration = 0;
        busy += batch->depth[i] == 0 && duration > 0 ? (uint64_t)duration : 0;
    }
    pass->busy_ns[batch->track] += busy;
}

static int survey(const struct gait_batch *batch, void *context)
{
    struct pass *pass = context;
    if (batch->track >= pass->track_count)
        return GAIT_OK;
    add_busy(pass, batch);
    // without a ledger the rest of the report is still worth having
    if (!pass->report->ledger_failure && span_order_survey(&pass->order, batch))
        pass->report->ledger_failure = "its spans are too far out of order";
    return GAIT_OK;
}

static void add_span(const struct ordered_span *span, void *context)
{
    struct pass *pass = context;
    const struct ledger_span part = {span->start_ns, span->end_ns, span->site};
    ledger_add(&pass->ledgers[pass->ledger_of[span->track]], &part);
}

static int walk(const struct gait_batch *batch, void *context)
{
    struct pass *pass = context;
    span_order_walk(&pass->order, batch, add_span, pass);
    return GAIT_OK;
}

static void count_thread(const struct pass *pass, struct report_thread *thread)
{
    struct report_ledger *ledger = &pass->report->ledger;
    thread->busy_ns = pass->busy_ns[thread->track];
    if (pass->ledger_of[thread->track] == no_ledger)
        return;
    ledger->events += thread->info.events;
    ledger->dropped += thread->info.dropped;
}

static int read_spans(struct pass *pass)
{
    struct run_report *report = pass->report;
    struct gait_query query = {.size = sizeof query, .kinds = 1u << GAIT_KIND_SPAN};
    int status = gait_scan(pass->trace, &query, SPAN_ORDER_SURVEY_COLUMNS, survey, pass);
    for (size_t i = 0; i < report->thread_count; i++)
        count_thread(pass, &report->threads[i]);
    if (status || report->ledger_failure)
        return status;
    uint32_t *tracks = take(pass, pass->track_count, sizeof *tracks);
    if (!tracks)
        return no_memory();
    for (uint32_t i = 0; i < pass->track_count; i++)
        if (pass->ledger_of[i] != no_ledger)
            tracks[query.track_count++] = i;
    query.tracks = tracks;
    if (!query.track_count)
        return GAIT_OK;
    span_order_sort(&pass->order);
    status = gait_scan(pass->trace, &query, SPAN_ORDER_WALK_COLUMNS, walk, pass);
    if (!status)
        span_order_finish_walk(&pass->order, add_span, pass);
    return status;
}

static int by_name(const void *left, const void *right)
{
    const struct phase *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static int by_total(const void *left, const void *right)
{
    const struct phase *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

// Sums by site become phases by name. Spans that are called `other` join the
// rest, which bears that name.
static int name_phases(struct pass *pass)
{
    struct report_ledger *ledger = &pass->report->ledger;
    struct phase *phases = take(pass, pass->site_count, sizeof *phases);
    size_t count = 0, kept = 0;
    if (!phases)
        return no_memory();
    for (uint32_t i = 0; i < pass->site_count; i++) {
        struct gait_site_info site;
        if (!pass->sums[i].parts)
            continue;
        int status = gait_trace_site(pass->trace, i, &site);
        if (status)
            return status;
        if (strcmp(site.name, "other") != 0)
            phases[count++] =
                (struct phase){site.name, pass->sums[i].total_ns, pass->sums[i].parts};
    }
    qsort(phases, count, sizeof *phases, by_name);
    for (size_t i = 0; i < count; i++) {
        if (!kept || strcmp(phases[kept - 1].name, phases[i].name) != 0) {
            phases[kept++] = phases[i];
            continue;
        }
        phases[kept - 1].total_ns += phases[i].total_ns;
        phases[kept - 1].parts += phases[i].parts;
    }
    qsort(phases, kept, sizeof *phases, by_total);
    ledger->phases = phases;
    ledger->count = kept;
    ledger->other_ns = ledger->total_ns;
    for (size_t i = 0; i < kept; i++)
        ledger->other_ns -= phases[i].total_ns;
    return GAIT_OK;
}

int run_ledger_make(struct run_report *report, struct gait_trace *trace)
{
    struct pass pass;
    int status = pass_init(&pass, report, trace);
    if (!status)
        status = read_steps(&pass);
    if (!status && !report->steps.count)
        status = open_whole_run(&pass);
    if (!status)
        status = read_spans(&pass);
    if (!status)
        status = name_phases(&pass);
    pass_finish(&pass);
    return status;
}
