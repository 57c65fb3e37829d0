// SPDX-License-Identifier: Apache-2.0
// Asks the trace and the analyses in turn. What shards, threads and drops say is read here,
// the rest in one pass for all, and a second one.
#include "analyse/report/run_report.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/job/job_files.h"
#include "analyse/ledger/run_ledger.h"
#include "analyse/report/torch_report.h"
#include "analyse/verdict/run_verdict.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/fail.h"
#include "base/json_reader.h"
#include "facts/facts.h"
#include "load/order/event_feed.h"
#include "load/pass/pass.h"
#include "vocabulary/metadata.h"
#include "vocabulary/meters.h"

// Steps of a long run are the largest part: 40 bytes each, twice.
#define REPORT_MAX_BYTES ((size_t)2 << 30)

// Who only samples is none of the program's processes, unless it is all there is.
static void count_processes(struct run_report *report, const struct gait_trace *trace)
{
    struct gait_shard_info shard;
    uint64_t life_ns[2] = {0}; // of samplers and of others
    uint32_t counts[2] = {0};
    for (uint32_t i = 0; i < report->shard_count; i++) {
        if (gait_trace_shard(trace, i, &shard) || !strcmp(shard.role, METER_ROLE))
            continue;
        const bool is_other = strcmp(shard.role, "sampler") != 0;
        if (strcmp(shard.role, "devices") == 0)
            continue; // of a process that is there already
        const struct process_life *life = &report->lives.rows[i];
        counts[is_other]++;
        if (life->end_ns > life->start_ns)
            life_ns[is_other] += (uint64_t)life->end_ns - (uint64_t)life->start_ns;
    }
    report->process_count = counts[counts[1] > 0];
    report->has_samples = counts[0] > 0;
    report->overhead.process_ns = life_ns[counts[1] > 0];
}

static int read_shards(struct run_report *report, const struct gait_trace *trace)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    report->shard_count = gait_trace_shard_count(trace);
    int status = process_lives_find(&report->lives, trace, &report->arena);
    if (status)
        return status;
    for (uint32_t i = 0; i < report->shard_count; i++) {
        const struct process_life *life = &report->lives.rows[i];
        struct gait_shard_info shard;
        status = gait_trace_shard(trace, i, &shard);
        if (status)
            return status;
        report->overhead.cpu_ns += shard.overhead_cpu_ns;
        report->overhead.bytes += shard.bytes;
        if (!strcmp(shard.role,
                    METER_ROLE)) // of the machine's devices: none of the program's events
            continue;
        report->events += shard.events;
        report->dropped += shard.dropped;
        if (life->end_ns < life->start_ns)
            continue; // nothing in it
        first = life->start_ns < first ? life->start_ns : first;
        last = life->end_ns > last ? life->end_ns : last;
    }
    if (first > last)
        report->wall_ns = 0;
    else if (__builtin_sub_overflow(last, first, &report->wall_ns))
        report->wall_ns = INT64_MAX; // 292 years: wrong times are seen, 0 ns would hide them
    report->start_ns = first;
    count_processes(report, trace);
    return GAIT_OK;
}

static bool is_told(const struct run_report *report, const char *words)
{
    for (size_t i = 0; i < report->ignored_count; i++)
        if (!strcmp(report->ignored[i].words, words))
            return true;
    return false;
}

static int read_ignored(struct run_report *report, const struct gait_trace *trace)
{
    int status = GAIT_OK;
    struct buffer words;
    buffer_init(&words, 1u << 20);
    for (uint32_t i = 0; !status && i < report->shard_count; i++) {
        const char *json = gait_trace_metadata(trace, i, meta.settings_ignored);
        struct gait_shard_info shard;
        words.used = 0;
        if (!json || report->ignored_count == REPORT_MOST_IGNORED ||
            gait_trace_shard(trace, i, &shard))
            continue;
        status = json_decode(json, &words);
        if (status || is_told(report, (const char *)words.bytes))
            continue;
        const char *copy = arena_text(&report->arena, words.bytes, words.used);
        status = copy ? GAIT_OK : GAIT_ERR_MEMORY;
        report->ignored[report->ignored_count++] = (struct report_ignored){shard.pid, copy};
    }
    buffer_finish(&words);
    return status;
}

// Whether the file that an imported shard was made from lacks its end.
static bool is_cut(const char *import)
{
    struct json_token repairs;
    if (!import || json_member(import, "repairs", &repairs) != JSON_OBJECT)
        return false;
    const char *counts = strchr((const char *)repairs.key.bytes, '{');
    return counts && json_member_count(counts, "truncated") > 0;
}

static void read_metadata(struct run_report *report, const struct gait_trace *trace)
{
    report->has_torch = torch_report_concerns(trace);
    report->is_imported = report->shard_count > 0;
    for (uint32_t i = 0; i < report->shard_count; i++) {
        const char *import = gait_trace_metadata(trace, i, meta.import);
        const char *source = gait_trace_metadata(trace, i, meta.source);
        report->is_imported = report->is_imported && import;
        if (is_cut(import) && !report->cut_trace)
            report->cut_trace = source ? source : "";
        const char *noted = gait_trace_metadata(trace, i, meta.memory_peak);
        const double bytes = json_member_count(noted, "rss_bytes");
        if (bytes < 1e18 && bytes > (double)report->memory_peak_bytes)
            report->memory_peak_bytes = (uint64_t)bytes;
    }
}

static int read_files(struct run_report *report, const struct gait_trace *trace)
{
    struct job_files files;
    const int status = job_files_init(&files, trace);
    if (status)
        return status;
    report->ranks_here = files.ranks;
    report->ranks_missing = files.missing;
    job_files_finish(&files);
    return GAIT_OK;
}

static bool is_worker(const struct gait_track_info *info)
{
    return !info->internal && (info->kind == GAIT_TRACK_THREAD || info->kind == GAIT_TRACK_STREAM);
}

static int read_threads(struct run_report *report, const struct gait_trace *trace)
{
    uint32_t tracks = gait_trace_track_count(trace);
    report->threads = arena_take(&report->arena, (tracks + 1) * sizeof *report->threads);
    if (!report->threads)
        return fail(GAIT_ERR_MEMORY, "no memory for %u threads", tracks);
    for (uint32_t i = 0; i < tracks; i++) {
        struct report_thread thread = {.busy_ns = 0};
        struct gait_shard_info shard;
        int status = gait_trace_track(trace, i, &thread.info);
        if (!status)
            status = gait_trace_shard(trace, thread.info.shard, &shard);
        if (status)
            return status;
        if (!is_worker(&thread.info))
            continue;
        thread.track = i;
        thread.pid = shard.pid;
        thread.rank = shard.rank;
        report->threads[report->thread_count++] = thread;
    }
    return GAIT_OK;
}

// Drops by thread: `last` holds each thread's newest row + 1, and rows are
// chained from there; the place behind all threads is for what is no thread.
struct drop_search {
    struct run_report *report;
    uint32_t *place_of; // of a track in `threads`
    uint32_t track_count;
    uint32_t *last;
    size_t capacity;
};

static int drop_search_init(struct drop_search *search, struct run_report *report,
                            uint32_t track_count)
{
    uint32_t none = (uint32_t)report->thread_count;
    *search = (struct drop_search){.report = report, .track_count = track_count};
    search->place_of = arena_take(&report->arena, (track_count + 1) * sizeof(uint32_t));
    search->last = arena_take(&report->arena, (report->thread_count + 1) * sizeof(uint32_t));
    if (!search->place_of || !search->last)
        return fail(GAIT_ERR_MEMORY, "no memory for a list of drops");
    memset(search->last, 0, (report->thread_count + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < track_count; i++)
        search->place_of[i] = none;
    for (uint32_t i = 0; i < none; i++)
        search->place_of[report->threads[i].track] = i;
    return GAIT_OK;
}

static struct report_drop *new_drop(struct drop_search *search)
{
    struct run_report *report = search->report;
    if (report->drop_count == search->capacity) {
        size_t capacity = search->capacity ? 2 * search->capacity : 16;
        struct report_drop *grown = arena_take(&report->arena, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        if (report->drop_count)
            memcpy(grown, report->drops, report->drop_count * sizeof *grown);
        report->drops = grown;
        search->capacity = capacity;
    }
    return &report->drops[report->drop_count++];
}

// The row for that thread and reason, made if missing; NULL without memory.
static struct report_drop *find_drop(struct drop_search *search, uint32_t place, const char *reason)
{
    struct run_report *report = search->report;
    for (uint32_t at = search->last[place]; at; at = report->drops[at - 1].before)
        if (!strcmp(report->drops[at - 1].reason, reason))
            return &report->drops[at - 1];
    struct report_drop *drop = new_drop(search);
    if (!drop)
        return NULL;
    *drop = (struct report_drop){.reason = reason, .before = search->last[place]};
    search->last[place] = (uint32_t)report->drop_count;
    if (place < report->thread_count)
        drop->thread = &report->threads[place];
    return drop;
}

static int add_drop(void *context, const struct gait_event *event)
{
    struct drop_search *search = context;
    uint32_t place = event->track < search->track_count ? search->place_of[event->track]
                                                        : (uint32_t)search->report->thread_count;
    struct report_drop *drop = find_drop(search, place, event->name ? event->name : "");
    int64_t end;
    if (!drop)
        return fail(GAIT_ERR_MEMORY, "no memory for a list of drops");
    if (event->duration_ns < 0 || __builtin_add_overflow(event->start_ns, event->duration_ns, &end))
        end = event->start_ns;
    if (!drop->gaps || event->start_ns < drop->start_ns)
        drop->start_ns = event->start_ns;
    if (!drop->gaps || end > drop->end_ns)
        drop->end_ns = end;
    drop->gaps++;
    drop->events += event->id;
    return GAIT_OK;
}

static int read_drops(struct run_report *report, struct gait_trace *trace)
{
    const struct gait_query query = {.size = sizeof query, .kinds = 1u << GAIT_KIND_DROP};
    struct drop_search search;
    const int status = drop_search_init(&search, report, gait_trace_track_count(trace));
    return status ? status : each_event(trace, &query, add_drop, &search);
}

static int by_busy(const void *left, const void *right)
{
    const struct report_thread *a = left, *b = right;
    RETURN_IF_APART(b->busy_ns, a->busy_ns);
    RETURN_IF_APART(b->info.events, a->info.events);
    return a->track < b->track ? -1 : 1;
}

static void sort_threads(struct run_report *report)
{
    ARRAY_SORT(report->threads, report->thread_count, by_busy);
    for (size_t i = 0; i < report->thread_count; i++)
        if (report->threads[i].is_main)
            report->main_thread = &report->threads[i];
}

// Steps that bear names need no reading of their own before that of the devices.
static int read_marks(struct run_report *report, struct gait_trace *trace, struct run_marks *marks,
                      struct torch_reading *torch)
{
    struct fact_ask devices[DEVICE_RUN_ASKS];
    struct pass_ask asks[1 + TORCH_REPORT_ASKS] = {{&run_marks_analysis, marks}};
    const size_t count = 1 + torch_report_asks(torch, asks + 1);
    if (!recorded_steps_are_named(trace))
        return pass_run(trace, asks, count);
    const int status = device_run_ask(&report->devices, trace, devices);
    return status ? status : facts_run_with(trace, devices, DEVICE_RUN_ASKS, asks, count);
}

// Each frame is read once here, and at most twice more: for the ledger's spans, or for the ops of
// a PyTorch run; and for devices, where steps must be known first.
static int read_work(struct run_report *report, struct gait_trace *trace, struct run_marks *marks,
                     struct torch_reading *torch)
{
    struct run_ledger ledger;
    int status = read_marks(report, trace, marks, torch);
    if (!status)
        status = recorded_steps_add(
            &report->devices.turns.recorded, trace, (const void *)marks->steps.bytes,
            marks->steps.used / sizeof(struct step_row)); // all of them: the ledger merges ranks
    if (!status)
        status = run_ledger_open(&ledger, report, trace, marks);
    if (status)
        return status;
    sort_threads(report);
    status = torch_report_make(torch, report, trace);
    return status || report->torch ? status : run_ledger_book(&ledger);
}

static int read_events(struct run_report *report, struct gait_trace *trace)
{
    struct run_marks marks;
    struct torch_reading torch = {.torch = NULL};
    const struct report_thread *main_thread = run_ledger_main(report);
    int status = run_marks_init(&marks, trace);
    if (!status)
        status = torch_report_begin(&torch, report, trace,
                                    main_thread ? main_thread->track : UINT32_MAX);
    if (!status)
        status = read_work(report, trace, &marks, &torch);
    run_marks_finish(&marks);
    torch_reading_finish(&torch);
    recorded_steps_settle(&report->devices.turns.recorded);
    return status ? status : read_drops(report, trace);
}

static int read_devices(struct run_report *report, struct gait_trace *trace)
{
    struct fact_ask asks[DEVICE_RUN_ASKS];
    if (recorded_steps_are_named(trace))
        return GAIT_OK;
    const int status = device_run_ask(&report->devices, trace, asks);
    return status ? status : facts_run(trace, asks, DEVICE_RUN_ASKS);
}

// A file that was not closed lacks its end only.
static void count_damage(struct run_report *report, const struct gait_trace *trace)
{
    report->damage_count = gait_trace_damage_count(trace);
    for (uint32_t i = 0; i < report->damage_count; i++) {
        struct gait_damage_info damage;
        if (!gait_trace_damage(trace, i, &damage))
            report->gap_count += damage.bytes || !damage.offset;
    }
}

int run_report_make(struct run_report *report, struct gait_trace *trace)
{
    return run_report_make_part(report, trace, NULL);
}

int run_report_make_part(struct run_report *report, struct gait_trace *trace,
                         const struct chosen *chosen)
{
    *report = (struct run_report){.devices = {.chosen = chosen, .turns.chosen = chosen}};
    arena_init(&report->arena, REPORT_MAX_BYTES);
    recorded_steps_begin(&report->devices.turns.recorded, chosen);
    int status = read_shards(report, trace);
    read_metadata(report, trace);
    if (!status)
        status = read_files(report, trace);
    if (!status)
        status = read_threads(report, trace);
    if (!status)
        status = read_ignored(report, trace);
    if (!status)
        status = read_events(report, trace);
    if (!status)
        status = read_devices(report, trace);
    if (!status)
        status = energy_run_read_part(&report->energy, trace, chosen);
    count_damage(report, trace);
    if (!status)
        status = run_verdict_make(report, trace);
    if (!status && report->torch)
        findings_make(&report->torch->findings, report);
    return status;
}

void run_report_finish(struct run_report *report)
{
    if (!report)
        return;
    torch_report_finish(report->torch);
    device_run_finish(&report->devices);
    energy_run_finish(&report->energy);
    arena_finish(&report->arena);
}
