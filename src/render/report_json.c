// SPDX-License-Identifier: Apache-2.0
// What is not known is null: no steps have no percentiles.
#include "render/report_json.h"

#include <string.h>

#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"
#include "base/json_writer.h"
#include "render/sentence_text.h"
#include "render/torch_json.h"
#include "render/trace_json.h"

static void put_share(struct json_writer *json, uint64_t part, uint64_t whole)
{
    json_key(json, "share");
    if (whole)
        json_real(json, (double)part / (double)whole);
    else
        json_null(json);
}

static void put_steps(struct json_writer *json, const struct run_report *report)
{
    const struct steps_summary *steps = &report->steps;
    json_put_uint(json, "steps", steps->count);
    json_put_uint(json, "open_steps", report->open_steps);
    json_put_uint(json, "rank_count", report->rank_count);
    json_key(json, "step");
    if (steps->count) {
        json_object(json);
        json_put_int(json, "p50_ns", steps->p50_ns);
        json_put_int(json, "p95_ns", steps->p95_ns);
        json_put_int(json, "p99_ns", steps->p99_ns);
        json_put_int(json, "max_ns", steps->max_ns);
        json_put_uint(json, "slowest", steps->slowest);
        json_close(json);
    } else {
        json_null(json);
    }
    json_put_int(json, "step_total_ns", steps->total_ns);
}

static void put_phase(struct json_writer *json, const struct phase *phase, uint64_t whole)
{
    json_object(json);
    json_put_text(json, "name", phase->name);
    json_put_uint(json, "total_ns", phase->total_ns);
    put_share(json, phase->total_ns, whole);
    json_close(json);
}

static void put_phases(struct json_writer *json, const struct run_report *report)
{
    const struct report_ledger *ledger = &report->ledger;
    if (report->torch) {
        torch_json_phases(json, &report->torch->phases, report->torch->totals);
        return;
    }
    json_key(json, "phases");
    json_array(json);
    for (size_t i = 0; i < ledger->count; i++)
        put_phase(json, &ledger->phases[i], ledger->total_ns);
    put_phase(json, &(struct phase){.name = "other", .total_ns = ledger->other_ns},
              ledger->total_ns);
    json_close(json);
}

// How processes ended that did not end well, as `gait run` noted it.
static void put_ends(struct json_writer *json, const struct gait_trace *trace)
{
    json_key(json, "ends");
    json_array(json);
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++) {
        const char *noted = gait_trace_metadata(trace, i, "exit");
        struct gait_shard_info shard;
        if (!noted || !strcmp(noted, "{\"code\": 0}") || gait_trace_shard(trace, i, &shard))
            continue;
        json_object(json);
        json_put_text(json, "host", shard.host);
        json_put_int(json, "pid", shard.pid);
        json_key(json, "rank");
        trace_json_rank(json, shard.rank);
        json_key(json, "exit");
        json_embed(json, slice_of(noted));
        json_close(json);
    }
    json_close(json);
}

// Phases of the steps; a run without steps has those of its main thread
// instead, apart, so that `phases` always sums to step_total_ns.
static void put_ledger(struct json_writer *json, const struct run_report *report)
{
    if (report->steps.count) {
        put_phases(json, report);
        return;
    }
    if (report->torch) {
        torch_json_no_phases(json, &report->torch->phases);
    } else {
        json_key(json, "phases");
        json_array(json);
        json_close(json);
    }
    json_key(json, "whole_run");
    if (!report->main_thread) {
        json_null(json);
        return;
    }
    json_object(json);
    json_put_int(json, "pid", report->main_thread->pid);
    json_put_int(json, "tid", report->main_thread->info.tid);
    json_put_uint(json, "total_ns", report->ledger.total_ns);
    put_phases(json, report);
    json_close(json);
}

static void put_thread_keys(struct json_writer *json, const struct report_thread *thread)
{
    json_put_int(json, "pid", thread->pid);
    json_key(json, "rank");
    trace_json_rank(json, thread->rank);
    json_put_int(json, "tid", thread->info.tid);
    json_put_text(json, "track", thread->info.key);
    json_put_text(json, "name", thread->info.name);
}

static void put_threads(struct json_writer *json, const struct run_report *report)
{
    json_key(json, "threads");
    json_array(json);
    for (size_t i = 0; i < report->thread_count; i++) {
        const struct report_thread *thread = &report->threads[i];
        json_object(json);
        put_thread_keys(json, thread);
        json_put_text(json, "kind", thread->info.kind == GAIT_TRACK_STREAM ? "stream" : "thread");
        json_put_uint(json, "busy_ns", thread->busy_ns);
        json_put_uint(json, "events", thread->info.events);
        json_put_uint(json, "dropped", thread->info.dropped);
        json_close(json);
    }
    json_close(json);
}

static void put_drops(struct json_writer *json, const struct run_report *report)
{
    json_key(json, "drops");
    json_array(json);
    for (size_t i = 0; i < report->drop_count; i++) {
        const struct report_drop *drop = &report->drops[i];
        json_object(json);
        if (drop->thread)
            put_thread_keys(json, drop->thread);
        json_put_text(json, "reason", drop->reason);
        json_put_uint(json, "events", drop->events);
        json_put_uint(json, "gaps", drop->gaps);
        json_put_int(json, "start_ns", drop->start_ns);
        json_put_int(json, "end_ns", drop->end_ns);
        json_close(json);
    }
    json_close(json);
}

static void put_ignored(struct json_writer *json, const struct run_report *report)
{
    json_key(json, "settings_ignored");
    json_array(json);
    for (size_t i = 0; i < report->ignored_count; i++) {
        json_object(json);
        json_put_int(json, "pid", report->ignored[i].pid);
        json_put_text(json, "text", report->ignored[i].words);
        json_close(json);
    }
    json_close(json);
}

static void put_overhead(struct json_writer *json, const struct run_report *report)
{
    const struct report_overhead *overhead = &report->overhead;
    json_key(json, "overhead");
    json_object(json);
    json_put_uint(json, "cpu_ns", overhead->cpu_ns);
    json_put_uint(json, "bytes", overhead->bytes);
    put_share(json, overhead->cpu_ns, overhead->process_ns);
    if (report->torch)
        torch_json_put_cost(json, report->torch);
    json_close(json);
}

static void put_verdict(struct json_writer *json, const struct verdict *verdict)
{
    char text[2 * SENTENCE_BYTES + 64], why[SENTENCE_BYTES], advice[SENTENCE_BYTES];
    sentence_why(verdict, why, sizeof why);
    sentence_advice(verdict, advice, sizeof advice);
    snprintf(text, sizeof text, "%s: %s; try: %s", sentence_label(verdict), why, advice);
    json_put_text(json, "verdict", text);
    json_put_text(json, "verdict_id", sentence_verdict_id(verdict));
    json_key(json, "verdict_evidence");
    sentence_put_evidence(json, &verdict->evidence);
}

void report_json_put(FILE *out, const struct run_report *report, const struct gait_trace *trace)
{
    struct json_writer json = {.out = out, .line_depth = 2, .indent = 2};
    json_object(&json);
    put_verdict(&json, &report->verdict);
    put_ends(&json, trace);
    put_steps(&json, report);
    put_ledger(&json, report);
    if (report->torch)
        torch_json_put(&json, report);
    json_put_text(&json, "ledger_failure", report->ledger_failure);
    json_put_int(&json, "wall_ns", report->wall_ns);
    json_put_uint(&json, "events", report->events);
    json_put_uint(&json, "dropped", report->dropped);
    put_threads(&json, report);
    put_drops(&json, report);
    put_ignored(&json, report);
    trace_json_damage(&json, trace);
    put_overhead(&json, report);
    json_close(&json);
}
