// SPDX-License-Identifier: Apache-2.0
// A run is PyTorch's when a process imported torch and something was trained or
// tried with it. What the facts tell of steps then takes the place of what step
// marks and outermost spans told.
#include "analyse/report/torch_report.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/cost/memory_steps.h"
#include "analyse/job/job_steps.h"
#include "analyse/job/torch_ranks.h"
#include "analyse/job/torch_slow.h"
#include "analyse/ops/op_walk.h"
#include "analyse/report/run_report.h"
#include "base/fail.h"
#include "load/site_role.h"
#include "vocabulary/metadata.h"

// --- walks through ops ------------------------------------------------------------------

struct takings {
    struct top_ops_taking *ops;
    struct flops_taking *flops;
    struct blocks_taking *blocks;
};

static int begin_ops(struct takings *takings, struct op_walk *walk, struct torch_report *torch,
                     struct arena *arena)
{
    const struct inventory_shard *shard = &torch->survey.shards[walk->shard];
    const struct top_ops_wish wish = {.phases = &torch->phases,
                                      .since_ns = shard->ops_since_ns,
                                      .steps = &torch->flops.steps,
                                      .unphased = &torch->unphased,
                                      .track = torch->ranks[0].track};
    int status = GAIT_OK;
    if (shard->events[ROLE_OP])
        status = top_ops_begin(&takings->ops, walk, &wish);
    if (!status && torch->flops.steps.count)
        status = torch_flops_begin(&takings->flops, walk, torch, arena);
    return status;
}

static int end_walk(struct takings *takings, struct torch_report *torch, struct arena *arena)
{
    int status = GAIT_OK;
    if (takings->ops) {
        status = top_ops_end(takings->ops, &torch->ops, arena);
        takings->ops = NULL;
    }
    if (!status && takings->flops) {
        status = torch_flops_end(takings->flops);
        takings->flops = NULL;
    }
    if (!status && takings->blocks) {
        status = op_allocations_end(takings->blocks);
        takings->blocks = NULL;
    }
    return status;
}

static int walk_shard(struct torch_report *torch, struct gait_trace *trace, struct arena *arena,
                      uint32_t shard)
{
    struct takings takings = {.ops = NULL};
    struct op_walk walk = {
        .trace = trace, .phases = &torch->phases, .survey = &torch->survey, .shard = shard};
    int status = GAIT_OK;
    if (torch->rank_count && torch->survey.shard_of[torch->ranks[0].track] == shard)
        status = begin_ops(&takings, &walk, torch, arena);
    if (!status && torch->memory.peak_bytes && torch->memory.shard == shard)
        status = op_allocations_begin(&takings.blocks, &walk, torch, arena);
    if (!status && walk.walker_count)
        status = op_walk_all(&walk);
    if (!status)
        status = end_walk(&takings, torch, arena);
    top_ops_drop(takings.ops);
    torch_flops_drop(takings.flops);
    op_allocations_drop(takings.blocks);
    return status;
}

// Ops, their work and their memory: a walk through the first rank's process, and one
// through the process that held most memory where that is another.
static int walk_ops(struct torch_report *torch, struct gait_trace *trace, struct arena *arena)
{
    const bool has_memory = torch->memory.peak_bytes > 0;
    const uint32_t memory = torch->memory.shard;
    if (!torch->rank_count)
        return has_memory ? walk_shard(torch, trace, arena, memory) : GAIT_OK;
    const uint32_t first = torch->survey.shard_of[torch->ranks[0].track];
    const int status = walk_shard(torch, trace, arena, first);
    return status || !has_memory || memory == first ? status
                                                    : walk_shard(torch, trace, arena, memory);
}

bool torch_report_concerns(const struct gait_trace *trace)
{
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++)
        if (gait_trace_metadata(trace, i, meta.torch))
            return true;
    return false;
}

void torch_report_finish(struct torch_report *torch)
{
    if (!torch)
        return;
    torch_phases_finish(&torch->phases);
    intervals_finish(&torch->unphased);
    inventory_finish(&torch->survey);
}

static int by_total(const void *left, const void *right)
{
    const struct phase *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

// The phases that took time, the largest first, for the verdict and the screen.
static int name_phases(struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    struct report_ledger *ledger = &report->ledger;
    ledger->phases = arena_take(&report->arena, torch->phases.count * sizeof *ledger->phases);
    if (!ledger->phases)
        return fail(GAIT_ERR_MEMORY, "no memory for %u phases", torch->phases.count);
    ledger->count = 0;
    for (unsigned i = 0; i < torch->phases.count; i++)
        if (torch->totals[i] && i != TORCH_OTHER)
            ledger->phases[ledger->count++] =
                (struct phase){torch->phases.names[i], torch->totals[i], 0};
    qsort(ledger->phases, ledger->count, sizeof *ledger->phases, by_total);
    ledger->other_ns = torch->totals[TORCH_OTHER];
    return GAIT_OK;
}

static void count_events(struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    report->ledger.events = report->ledger.dropped = 0;
    for (size_t i = 0; i < report->thread_count; i++)
        for (size_t k = 0; k < torch->rank_count; k++) {
            if (report->threads[i].track != torch->ranks[k].track)
                continue;
            report->ledger.events += report->threads[i].info.events;
            report->ledger.dropped += report->threads[i].info.dropped;
        }
}

static int put_steps(struct run_report *report, struct job_steps *job, struct gait_trace *trace)
{
    struct torch_report *torch = report->torch;
    struct process_life life;
    int status = GAIT_OK;
    if (torch->rank_count) {
        report->steps = job->steps;
        report->step_curve = job->curve;
        report->rank_count = job->rank_count;
        report->main_thread = NULL;
        count_events(report);
    } else if (report->main_thread) {
        status = process_lives_of_track(&report->lives, trace, report->main_thread->track, &life);
        const struct interval whole = {life.start_ns, life.end_ns};
        if (!status)
            status = job_steps_make_whole_run(job, &whole);
    }
    report->ledger.total_ns = job->total_ns;
    return status;
}

// A run with more facts than fit into memory still has all the rest.
static int make_job(struct run_report *report, struct torch_ranks *ranks, struct gait_trace *trace)
{
    struct torch_report *torch = report->torch;
    struct job_steps job = {.arena = &report->arena, .torch = torch, .ranks = ranks};
    int status = torch_ranks_settle(ranks);
    if (!status)
        status = recorded_steps_add_ranks(&report->devices.turns.recorded, trace, ranks);
    if (!status)
        status = job_steps_make(&job);
    if (!status)
        status = put_steps(report, &job, trace);
    if (status != GAIT_ERR_MEMORY)
        return status;
    fail_clear();
    memset(torch->totals, 0, sizeof torch->totals);
    torch->rank_count = torch->epoch_count = 0;
    torch->has_optimizer = true; // as far as is known
    report->steps = (struct steps_summary){.count = 0};
    report->main_thread = NULL;
    report->ledger.total_ns = 0;
    report->ledger_failure = "out of memory for the facts of the run";
    return GAIT_OK;
}

static void find_device(struct run_report *report, const struct gait_trace *trace)
{
    struct torch_report *torch = report->torch;
    for (uint32_t i = 0; !torch->device && i < gait_trace_shard_count(trace); i++)
        torch->device =
            torch_cost_text(gait_trace_metadata(trace, i, meta.device_name), &report->arena);
}

// How much of a rank's step there is in one of the report's. Processes that are one rank, for
// one follows the other, share it. A rank's steps are the job's; processes that know no rank
// go at their own pace, each.
static double share_of(const struct torch_report *torch, const struct torch_rank *rank)
{
    const struct steps_summary *shown = &torch->training;
    uint64_t steps = 0, ns = 0;
    for (size_t i = 0; i < torch->rank_count; i++) {
        const struct torch_rank *other = &torch->ranks[i];
        if (other->merge_rank != rank->merge_rank)
            continue;
        steps += other->steps;
        ns += other->total_ns - other->phases[TORCH_EVALUATION] - other->phases[TORCH_CHECKPOINT];
    }
    if (steps == rank->steps && (rank->rank >= 0 || torch->rank_count == 1))
        return 1;
    const double share = (double)rank->steps / (double)steps;
    if (rank->rank >= 0 || !ns || !shown->count)
        return share;
    return share * (double)shown->total_ns / (double)shown->count * (double)steps / (double)ns;
}

// A job's step takes what its slowest rank does, and has the samples of all.
static void find_throughput(struct torch_report *torch)
{
    struct torch_throughput *found = &torch->throughput;
    const struct steps_summary *steps = torch->steady.count ? &torch->steady : &torch->training;
    bool is_known = steps->count && steps->total_ns > 0;
    for (size_t i = 0; i < torch->rank_count; i++) {
        const struct torch_rank *rank = &torch->ranks[i];
        const double share = share_of(torch, rank);
        found->step_samples += rank->step_samples * share;
        found->step_tokens += rank->step_tokens * share;
        torch->samples += rank->samples;
        torch->tokens += rank->tokens;
        is_known = is_known && (!rank->samples || rank->step_samples > 0);
    }
    if (!is_known)
        found->step_samples = found->step_tokens = 0;
    if (steps->total_ns > 0)
        found->steps_per_s = (double)steps->count * 1e9 / (double)steps->total_ns;
    found->samples_per_s = found->step_samples * found->steps_per_s;
    found->tokens_per_s = found->step_tokens * found->steps_per_s;
}

static int make(struct torch_reading *reading, struct run_report *report, struct gait_trace *trace)
{
    struct torch_report *torch = report->torch;
    int status = make_job(report, reading->ranks, trace);
    if (!status)
        status = name_phases(report);
    if (!status)
        status = torch_memory_find(&torch->memory, trace);
    if (!status)
        status = walk_ops(torch, trace, &report->arena);
    if (status)
        return status;
    torch_vitals_find(torch, &reading->counters);
    memory_steps_find(torch, reading->ranks);
    find_device(report, trace);
    torch_cost_find(torch, trace);
    torch_lost_find(torch, trace);
    for (size_t i = 0; i < torch->rank_count; i++)
        torch->cost.steps_ns += torch->ranks[i].total_ns;
    find_throughput(torch);
    if (torch->cost.steps_ns > torch->cost.hooks_ns)
        torch->cost.steps_ns -= torch->cost.hooks_ns;
    torch_slow_find(torch);
    torch_judged_find(torch, report);
    return loader_workers_find(&torch->loading, &torch->survey, trace);
}

bool torch_report_is_imported(const struct gait_trace *trace)
{
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++)
        if (gait_trace_metadata(trace, i, meta.import))
            return true;
    return false;
}

bool torch_report_finds_steps(const struct gait_trace *trace)
{
    return torch_report_concerns(trace) ||
           (torch_report_is_imported(trace) && !site_role_any(trace, ROLE_BIT(ROLE_STEP)));
}

int torch_report_begin(struct torch_reading *reading, struct run_report *report,
                       const struct gait_trace *trace, uint32_t main_track)
{
    *reading = (struct torch_reading){.torch = NULL};
    if (!torch_report_concerns(trace) && !torch_report_is_imported(trace))
        return GAIT_OK;
    struct torch_report *torch = arena_take(&report->arena, sizeof *torch);
    reading->ranks = malloc(sizeof *reading->ranks);
    if (!torch || !reading->ranks)
        return fail(GAIT_ERR_MEMORY, "no memory for a report");
    *torch = (struct torch_report){.chosen = report->devices.chosen};
    torch_ranks_init(reading->ranks, &torch->survey);
    reading->torch = torch;
    int status = torch_phases_init(&torch->phases, trace);
    if (!status)
        status = inventory_init(&torch->survey, trace, &torch->phases);
    reading->counters.phases = &torch->phases;
    reading->ranks->lives = report->lives;
    reading->ranks->main_track = main_track;
    return status;
}

size_t torch_report_asks(struct torch_reading *reading, struct pass_ask *asks)
{
    if (!reading->torch)
        return 0;
    asks[0] = (struct pass_ask){&inventory_analysis, &reading->torch->survey};
    asks[1] = (struct pass_ask){&torch_ranks_analysis, reading->ranks};
    asks[2] = (struct pass_ask){&torch_counters_analysis, &reading->counters};
    return TORCH_REPORT_ASKS;
}

int torch_report_make(struct torch_reading *reading, struct run_report *report,
                      struct gait_trace *trace)
{
    if (!reading->torch || !inventory_has_facts(&reading->torch->survey))
        return GAIT_OK;
    report->torch = reading->torch;
    reading->torch = NULL; // the report's from here on
    return make(reading, report, trace);
}

void torch_reading_finish(struct torch_reading *reading)
{
    torch_report_finish(reading->torch);
    torch_ranks_finish(reading->ranks);
    free(reading->ranks);
    torch_counters_finish(&reading->counters);
}
