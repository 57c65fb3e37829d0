// SPDX-License-Identifier: Apache-2.0
// Steps first (they are few and all are kept), then the spans of the threads
// that made the chosen steps, in order of start and never all at once.
#include "analyse/ledger/run_ledger.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/report/run_report.h"
#include "base/array.h"
#include "base/fail.h"
#include "facts/facts.h"

#define NO_LEDGER UINT32_MAX

static void *take(struct run_ledger *ledger, size_t count, size_t bytes)
{
    void *memory = arena_take(&ledger->report->arena, (count + 1) * bytes);
    if (memory)
        memset(memory, 0, (count + 1) * bytes);
    return memory;
}

static int no_memory(void)
{
    return fail(GAIT_ERR_MEMORY, "no memory for a report");
}

static int prepare(struct run_ledger *ledger)
{
    ledger->track_count = gait_trace_track_count(ledger->trace);
    ledger->site_count = gait_trace_site_count(ledger->trace);
    ledger->ledger_of = take(ledger, ledger->track_count, sizeof *ledger->ledger_of);
    ledger->ledgers = take(ledger, ledger->track_count, sizeof *ledger->ledgers);
    ledger->sums = take(ledger, ledger->site_count, sizeof *ledger->sums);
    if (!ledger->ledger_of || !ledger->ledgers || !ledger->sums)
        return no_memory();
    for (uint32_t i = 0; i < ledger->track_count; i++)
        ledger->ledger_of[i] = NO_LEDGER;
    return GAIT_OK;
}

ARRAY_BY2(by_track_start, struct step_row, track, start_ns)

// One ledger a track that made chosen steps, its windows in a row.
ARRAY_BY1(by_start, struct step_row, start_ns)

static int open_ledgers(struct run_ledger *ledger, struct step_row *rows, size_t count)
{
    uint32_t ledgers = 0;
    ledger->windows = take(ledger, count, sizeof *ledger->windows);
    if (!ledger->windows)
        return no_memory();
    ARRAY_SORT(rows, count, by_track_start);
    for (size_t i = 0; i < count; i++)
        ledger->windows[i] = (struct ledger_window){
            .start_ns = rows[i].start_ns, .end_ns = rows[i].start_ns + rows[i].duration_ns};
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from; to < count && rows[to].track == rows[from].track; to++)
            ;
        ledger->ledger_of[rows[from].track] = ledgers;
        ledger_init(&ledger->ledgers[ledgers++], &ledger->windows[from], to - from, NULL,
                    ledger->site_count);
    }
    return GAIT_OK;
}

static int take_steps(struct run_ledger *ledger)
{
    struct run_report *report = ledger->report;
    struct step_row *rows = (struct step_row *)(void *)ledger->marks->steps.bytes;
    size_t count = ledger->marks->steps.used / sizeof *rows;
    report->open_steps = ledger->marks->open_steps;
    count = steps_merge(rows, count, &report->rank_count);
    int64_t *sorted = take(ledger, count, sizeof *sorted);
    if (!sorted)
        return no_memory();
    report->steps = steps_summarise(rows, count, sorted);
    if (count)
        qsort(rows, count, sizeof *rows, by_start); // numbers may begin anew with each epoch
    step_curve_make(&report->step_curve, rows, count);
    report->ledger.total_ns = (uint64_t)report->steps.total_ns;
    return open_ledgers(ledger, rows, count);
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

struct report_thread *run_ledger_main(struct run_report *report)
{
    struct report_thread *main_thread = NULL;
    for (size_t i = 0; i < report->thread_count; i++) {
        struct report_thread *thread = &report->threads[i];
        bool is_thread = thread->info.kind == GAIT_TRACK_THREAD;
        if (is_thread && (!main_thread || says_more(thread, main_thread)))
            main_thread = thread;
    }
    return main_thread;
}

// Without steps, the main thread's whole life is the one window.
static int open_whole_run(struct run_ledger *ledger)
{
    struct run_report *report = ledger->report;
    struct report_thread *main_thread = run_ledger_main(report);
    struct process_life life;
    if (!main_thread)
        return GAIT_OK;
    int status = process_lives_of_track(&report->lives, ledger->trace, main_thread->track, &life);
    if (status || life.end_ns <= life.start_ns)
        return status;
    main_thread->is_main = true;
    struct step_row whole = {.start_ns = life.start_ns, .track = main_thread->track};
    if (__builtin_sub_overflow(life.end_ns, life.start_ns, &whole.duration_ns))
        whole.duration_ns = INT64_MAX; // as the report says of the run
    report->ledger.total_ns = (uint64_t)whole.duration_ns;
    status = open_ledgers(ledger, &whole, 1);
    ledger->ledgers[0].is_whole_run = true;
    return status;
}

static void count_threads(const struct run_ledger *ledger)
{
    struct run_report *report = ledger->report;
    for (size_t i = 0; i < report->thread_count; i++) {
        struct report_thread *thread = &report->threads[i];
        thread->busy_ns = ledger->marks->busy_ns[thread->track];
        if (ledger->ledger_of[thread->track] == NO_LEDGER)
            continue;
        report->ledger.events += thread->info.events;
        report->ledger.dropped += thread->info.dropped;
    }
}

// The spans of one rank, booked in its own sums.
struct part {
    struct run_ledger *ledger;
    struct ledger_sum *sums; // NULL: none of its threads has a ledger
};

static int begin_part(void *opaque, const struct gait_trace *trace, uint32_t shard, void *answer)
{
    (void)trace;
    (void)shard;
    ((struct part *)opaque)->ledger = answer;
    return GAIT_OK;
}

static int book_track(struct part *part, struct ledger *ledger, const struct fact_rows *track)
{
    if (!part->sums)
        part->sums = calloc((size_t)part->ledger->site_count + 1, sizeof *part->sums);
    if (!part->sums)
        return no_memory();
    ledger->sums = part->sums;
    for (size_t i = 0; i < track->count; i++) {
        const struct fact_row *row = &track->rows[i];
        ledger_add(ledger, &(struct ledger_span){row->start_ns, row->end_ns, row->site});
    }
    return GAIT_OK;
}

static int book_rows(void *opaque, const struct fact_slice *slice)
{
    struct part *part = opaque;
    int status = GAIT_OK;
    for (size_t i = 0; i < slice->count && !status; i++) {
        const uint32_t place = part->ledger->ledger_of[slice->tracks[i].track];
        if (place != NO_LEDGER)
            status = book_track(part, &part->ledger->ledgers[place], &slice->tracks[i]);
    }
    return status;
}

static int merge_sums(void *answer, void *opaque)
{
    struct run_ledger *ledger = answer;
    const struct part *part = opaque;
    for (uint32_t i = 0; part->sums && i < ledger->site_count; i++) {
        ledger->sums[i].total_ns += part->sums[i].total_ns;
        ledger->sums[i].parts += part->sums[i].parts;
    }
    return GAIT_OK;
}

static void drop_part(void *opaque)
{
    free(((struct part *)opaque)->sums);
}

static const struct fact_consumer consumer = {
    .name = "run ledger",
    .part_bytes = sizeof(struct part),
    .begin = begin_part,
    .slice = book_rows,
    .merge = merge_sums,
    .drop = drop_part,
};

static int by_name(const void *left, const void *right)
{
    const struct phase *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static int by_total(const void *left, const void *right)
{
    const struct phase *a = left, *b = right;
    RETURN_IF_APART(b->total_ns, a->total_ns);
    return strcmp(a->name, b->name);
}

// Sums by site become phases by name. Spans that are called `other` join the
// rest, which bears that name.
static int name_phases(struct run_ledger *ledger)
{
    struct report_ledger *named = &ledger->report->ledger;
    struct phase *phases = take(ledger, ledger->site_count, sizeof *phases);
    size_t count = 0, kept = 0;
    if (!phases)
        return no_memory();
    for (uint32_t i = 0; i < ledger->site_count; i++) {
        const struct ledger_sum *sum = &ledger->sums[i];
        struct gait_site_info site;
        if (!sum->parts)
            continue;
        int status = gait_trace_site(ledger->trace, i, &site);
        if (status)
            return status;
        if (strcmp(site.name, "other") != 0)
            phases[count++] = (struct phase){site.name, sum->total_ns, sum->parts};
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
    named->phases = phases;
    named->count = kept;
    named->other_ns = named->total_ns;
    for (size_t i = 0; i < kept; i++)
        named->other_ns -= phases[i].total_ns;
    return GAIT_OK;
}

int run_ledger_open(struct run_ledger *ledger, struct run_report *report, struct gait_trace *trace,
                    struct run_marks *marks)
{
    *ledger = (struct run_ledger){.report = report, .trace = trace, .marks = marks};
    int status = prepare(ledger);
    if (!status)
        status = take_steps(ledger);
    if (!status && !report->steps.count)
        status = open_whole_run(ledger);
    if (!status)
        count_threads(ledger);
    return status;
}

int run_ledger_book(struct run_ledger *ledger)
{
    const struct fact_ask ask = {&consumer, ledger};
    const int status = ledger->windows ? facts_run(ledger->trace, &ask, 1) : GAIT_OK;
    return status ? status : name_phases(ledger);
}
