// SPDX-License-Identifier: Apache-2.0
// One key a function. What is not known is null.
#include "render/torch_json.h"

#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"
#include "base/json_writer.h"
#include "render/sentence_text.h"
#include "render/torch_work.h"
#include "render/trace_json.h"

enum { MOST_OPS = 100 };

static void put_part(struct json_writer *json, const char *key, uint64_t part, uint64_t whole)
{
    json_key(json, key);
    if (whole)
        json_real(json, (double)part / (double)whole);
    else
        json_null(json);
}

void torch_json_phases(struct json_writer *json, const struct torch_phases *phases,
                       const uint64_t *sums)
{
    uint64_t whole = 0;
    for (unsigned i = 0; i < phases->count; i++)
        whole += sums[i];
    json_key(json, "phases");
    json_array(json);
    for (unsigned i = 0; i < phases->count; i++) {
        json_object(json);
        json_put_text(json, "name", phases->names[i]);
        json_put_uint(json, "total_ns", sums[i]);
        put_part(json, "share", sums[i], whole);
        json_close(json);
    }
    json_close(json);
}

void torch_json_no_phases(struct json_writer *json, const struct torch_phases *phases)
{
    static const uint64_t nothing[TORCH_MOST_PHASES];
    torch_json_phases(json, phases, nothing);
}

// How much of the run lies before its recording, where its process told when it began.
static void put_run_start(struct json_writer *json, const struct process_life *life)
{
    json_key(json, "run_start");
    if (!life->start_error_ns) {
        json_null(json);
        return;
    }
    json_object(json);
    json_put_uint(json, "unrecorded_ns", process_life_unrecorded_ns(life));
    json_put_uint(json, "error_ns", life->start_error_ns);
    json_close(json);
}

// Without steps there is nothing to tell start from end by: no parts.
static void put_run(struct json_writer *json, const struct run_parts *run,
                    const struct process_life *life)
{
    json_key(json, "run");
    json_array(json);
    for (unsigned i = 0; run->total_ns && i < RUN_PART_COUNT; i++) {
        json_object(json);
        json_put_text(json, "name", run_part_names[i]);
        json_put_uint(json, "total_ns", run->parts[i]);
        json_close(json);
    }
    json_close(json);
    put_run_start(json, life);
}

static void put_ranks(struct json_writer *json, const struct torch_report *torch)
{
    json_key(json, "ranks");
    json_array(json);
    for (size_t i = 0; i < torch->rank_count; i++) {
        const struct torch_rank *rank = &torch->ranks[i];
        json_object(json);
        json_key(json, "rank");
        trace_json_rank(json, rank->rank);
        json_put_int(json, "pid", rank->pid);
        json_put_uint(json, "steps", rank->steps);
        json_put_uint(json, "step_total_ns", rank->total_ns);
        torch_json_phases(json, &torch->phases, rank->phases);
        put_run(json, &rank->run, &rank->life);
        json_close(json);
    }
    json_close(json);
}

static void put_slow_rank(struct json_writer *json, const struct torch_report *torch)
{
    json_key(json, "slow_rank");
    if (!torch->slow.is_known) {
        json_null(json);
        return;
    }
    json_object(json);
    json_key(json, "rank");
    trace_json_rank(json, torch->slow.rank);
    json_put_text(json, "phase", torch->phases.names[torch->slow.phase]);
    json_put_uint(json, "ns", torch->slow.ns);
    json_close(json);
}

// Percentiles of steps, and the slowest; null without any.
static bool open_summary(struct json_writer *json, const char *key,
                         const struct steps_summary *steps)
{
    json_key(json, key);
    if (!steps->count) {
        json_null(json);
        return false;
    }
    json_object(json);
    json_put_uint(json, "steps", steps->count);
    json_put_int(json, "p50_ns", steps->p50_ns);
    json_put_int(json, "p95_ns", steps->p95_ns);
    json_put_int(json, "p99_ns", steps->p99_ns);
    json_put_int(json, "max_ns", steps->max_ns);
    json_put_uint(json, "slowest", steps->slowest);
    return true;
}

static void put_training(struct json_writer *json, const struct torch_report *torch)
{
    if (!open_summary(json, "training_step", &torch->training))
        return;
    json_put_int(json, "total_ns", torch->training.total_ns);
    json_close(json);
}

static void put_steady(struct json_writer *json, const struct torch_report *torch)
{
    json_put_int(json, "first_step_ns", torch->first_ns);
    json_put_uint(json, "compile_steps", torch->compile_steps);
    json_put_uint(json, "compile_steps_ns", torch->compile_steps_ns);
    if (!open_summary(json, "steady_step", &torch->steady))
        return;
    json_put_text(json, "slowest_phase", torch->phases.names[torch->slowest_phase]);
    json_put_uint(json, "slowest_phase_ns", torch->slowest_ns);
    json_close(json);
}

static void put_epochs(struct json_writer *json, const struct torch_report *torch)
{
    json_key(json, "epochs");
    json_array(json);
    for (size_t i = 0; i < torch->epoch_count; i++) {
        const struct torch_epoch *epoch = &torch->epochs[i];
        json_object(json);
        json_put_uint(json, "first_step", epoch->first_step);
        json_put_uint(json, "steps", epoch->steps);
        json_put_uint(json, "total_ns", epoch->total_ns);
        json_put_uint(json, "wall_ns", epoch->wall_ns);
        torch_json_phases(json, &torch->phases, epoch->phases);
        json_close(json);
    }
    json_close(json);
    json_put_text(json, "epochs_why", torch->epochs_why);
}

static void put_rate(struct json_writer *json, const char *key, uint64_t count, uint64_t ns)
{
    json_key(json, key);
    if (count && ns)
        json_real(json, (double)count * 1e9 / (double)ns);
    else
        json_null(json);
}

// Of all ranks together, over the time in which the job's steps trained.
static void put_throughput(struct json_writer *json, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    uint64_t total_ns = (uint64_t)torch->training.total_ns;
    json_key(json, "throughput");
    json_object(json);
    put_rate(json, "steps_per_s", report->steps.count, total_ns);
    put_rate(json, "samples_per_s", torch->samples, total_ns);
    put_rate(json, "tokens_per_s", torch->tokens, total_ns);
    json_put_uint(json, "samples", torch->samples);
    json_put_uint(json, "tokens", torch->tokens);
    json_close(json);
}

static void put_findings(struct json_writer *json, const struct findings *findings)
{
    json_key(json, "findings");
    json_array(json);
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->rows[i];
        json_object(json);
        char text[SENTENCE_BYTES];
        sentence_finding(finding, text, sizeof text);
        json_put_text(json, "id", sentence_finding_id(finding));
        json_put_text(json, "text", text);
        json_key(json, "evidence");
        sentence_put_evidence(json, &finding->evidence);
        json_close(json);
    }
    json_close(json);
}

static void put_ops(struct json_writer *json, const struct torch_report *torch)
{
    const uint64_t step_ns = torch->rank_count ? torch->ranks[0].recorded_ns : 0;
    json_key(json, "ops");
    json_object(json);
    json_put_uint(json, "steps", torch->rank_count ? torch->ranks[0].recorded : 0);
    json_put_uint(json, "steps_ns", step_ns);
    json_put_uint(json, "calls", torch->ops.calls);
    json_put_uint(json, "self_ns", torch->ops.self_ns);
    json_key(json, "top");
    json_array(json);
    for (size_t i = 0; i < torch->ops.count && i < MOST_OPS; i++) {
        const struct top_op *op = &torch->ops.rows[i];
        json_object(json);
        json_put_text(json, "name", op->name);
        json_put_uint(json, "calls", op->calls);
        json_put_uint(json, "self_ns", op->self_ns);
        json_put_uint(json, "total_ns", op->total_ns);
        put_part(json, "op_share", op->self_ns, torch->ops.self_ns);
        put_part(json, "step_share", op->self_ns, step_ns);
        json_close(json);
    }
    json_close(json);
    json_close(json);
}

void torch_json_put_cost(struct json_writer *json, const struct torch_report *torch)
{
    json_key(json, "hooks_ns");
    if (torch->cost.is_known)
        json_uint(json, torch->cost.hooks_ns);
    else
        json_null(json);
    json_key(json, "step_share");
    if (torch->cost.is_known && torch->cost.steps_ns)
        json_real(json, (double)torch->cost.hooks_ns / (double)torch->cost.steps_ns);
    else
        json_null(json);
}

void torch_json_put(struct json_writer *json, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    put_findings(json, &torch->findings);
    put_throughput(json, report);
    torch_work_json(json, report);
    put_ops(json, torch);
    put_training(json, torch);
    put_steady(json, torch);
    const struct torch_rank none = {.rank = -1}, *first = torch->rank_count ? torch->ranks : &none;
    put_run(json, &first->run, &first->life);
    put_ranks(json, torch);
    put_slow_rank(json, torch);
    put_epochs(json, torch);
}
