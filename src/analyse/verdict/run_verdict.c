// SPDX-License-Identifier: Apache-2.0
// Fills in what is judged; verdict.c judges.
#include "analyse/verdict/run_verdict.h"

#include <string.h>

#include <gait/trace.h>

#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"
#include "analyse/verdict/device_facts.h"
#include "analyse/verdict/failure_facts.h"
#include "analyse/verdict/verdict.h"
#include "analyse/verdict/work_words.h"
#include "base/fail.h"

enum { COMPILES_ON = 4 }; // spans of compiling; fewer are those of the first steps

// Of a full disk a larger buffer would only be a later end.
static bool lost_to_full_disk(const struct run_report *report)
{
    uint64_t events = 0, all = 0;
    for (size_t i = 0; i < report->drop_count; i++) {
        all += report->drops[i].events;
        if (!strcmp(report->drops[i].reason, "disk full"))
            events += report->drops[i].events;
    }
    return events > all / 2;
}

// Phases that users marked: their words tell what they are.
static void judge_marked(const struct run_report *report, struct judged_part *parts,
                         struct verdict_facts *facts)
{
    const struct report_ledger *ledger = &report->ledger;
    struct judged *judged = &facts->judged;
    uint64_t spans = 0;
    *judged =
        (struct judged){.parts = parts, .total_ns = ledger->total_ns, .steps = report->steps.count};
    for (size_t i = 0; i < ledger->count; i++)
        if (work_words_kind(ledger->phases[i].name) == WORK_COMPILING)
            spans += ledger->phases[i].parts;
    for (size_t i = 0; i < ledger->count; i++) {
        const struct phase *phase = &ledger->phases[i];
        const enum work_kind work = work_words_kind(phase->name);
        const struct judged_part part = {phase->name, work, phase->total_ns, false};
        if (work != WORK_COMPILING || spans >= COMPILES_ON || !report->steps.count) {
            parts[judged->count++] = part;
            continue;
        }
        judged->total_ns -= phase->total_ns;
        if (phase->total_ns > facts->once.total_ns)
            facts->once = part;
    }
}

// With the ops that it calls.
static bool is_small(const struct top_op *op)
{
    return op->calls && op->total_ns / op->calls < SMALL_OP_NS;
}

// A number that is read out of a tensor: no computing, whatever reads it.
static bool is_reading(const char *name)
{
    return !strcmp(name, "aten::item") || !strcmp(name, "aten::_local_scalar_dense");
}

// What ops take of the time in no phase, as far as they were on record: those that compute,
// since code outside of any module does so, too, and those that read numbers. Small ops are left
// to what calls them, which costs as much.
static void add_ops_in_no_phase(const struct torch_report *torch, struct judged_part *parts,
                                struct judged *judged)
{
    static const struct {
        const char *name;
        enum work_kind work;
    } kinds[] = {{"ops in no phase", WORK_COMPUTING}, {"reading numbers", WORK_SYNC}};
    const uint64_t recorded_ns = intervals_total(&torch->unphased);
    uint64_t ns[2] = {0, 0}, left_ns = judged->total_ns;
    for (size_t i = 0; i < torch->ops.count; i++) {
        const struct top_op *op = &torch->ops.rows[i];
        if (!strcmp(op->name, "aten::item"))
            ns[1] += op->unphased_ns;
        else if (!is_reading(op->name) && !is_small(op))
            ns[0] += op->unphased_ns;
    }
    for (size_t i = 0; i < judged->count; i++)
        left_ns -= judged->parts[i].total_ns;
    for (size_t i = 0; i < 2 && recorded_ns; i++) {
        const double share = ns[i] < recorded_ns ? (double)ns[i] / (double)recorded_ns : 1;
        const uint64_t wanted_ns = (uint64_t)(share * (double)torch->judged.phases[TORCH_OTHER]);
        const uint64_t part_ns = wanted_ns < left_ns ? wanted_ns : left_ns;
        if (part_ns)
            parts[judged->count++] =
                (struct judged_part){kinds[i].name, kinds[i].work, part_ns, true};
        left_ns -= part_ns;
    }
}

static void judge_found(const struct torch_report *torch, struct judged_part *parts,
                        struct judged *judged)
{
    const struct torch_judged *from = &torch->judged;
    *judged = (struct judged){.parts = parts,
                              .total_ns = from->total_ns,
                              .steps = from->steps,
                              .is_steady = from->is_steady};
    for (unsigned i = 0; i < torch->phases.count; i++)
        if (from->phases[i] && i != TORCH_OTHER)
            parts[judged->count++] = (struct judged_part){
                torch->phases.names[i], torch_judged_work(i, torch->phases.names[i]),
                from->phases[i], i < TORCH_NAMED};
    add_ops_in_no_phase(torch, parts, judged);
}

static bool has_fused_optimizer(const struct top_ops *ops)
{
    static const char fused[] = "aten::_fused_ad";
    for (size_t i = 0; i < ops->count; i++)
        if (!strncmp(ops->rows[i].name, fused, sizeof fused - 1) ||
            !strcmp(ops->rows[i].name, "aten::_fused_sgd_"))
            return true;
    return false;
}

// Of all calls, as long as one usually takes: without the longest, which may have been
// interrupted.
static uint64_t usual_ns(const struct top_op *op)
{
    if (op->calls < 2 || op->longest_ns > op->self_ns)
        return op->self_ns;
    return (op->self_ns - op->longest_ns) / (op->calls - 1) * op->calls;
}

// torch marks each step of an optimizer with its class.
static bool has_fused_form(const struct gait_trace *trace)
{
    static const char begin[] = "Optimizer.step#";
    static const char *const classes[] = {"Adam.step", "AdamW.step", "SGD.step", "Adagrad.step"};
    bool is_any = false;
    for (uint32_t i = 0; i < gait_trace_site_count(trace); i++) {
        struct gait_site_info site;
        if (gait_trace_site(trace, i, &site) || strncmp(site.name, begin, sizeof begin - 1) != 0)
            continue;
        is_any = true;
        for (size_t k = 0; k < sizeof classes / sizeof classes[0]; k++)
            if (!strcmp(site.name + sizeof begin - 1, classes[k]))
                return true;
    }
    return !is_any;
}

static bool is_product(const char *name)
{
    static const char *const begins[] = {
        "aten::mm",          "aten::addmm",       "aten::bmm",       "aten::baddbmm",
        "aten::convolution", "aten::_conv",       "aten::mkldnn_",   "aten::thnn_conv",
        "aten::slow_conv",   "aten::_scaled_dot", "aten::_flash_at", "mkl::",
        "mkldnn::",
    };
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (!strncmp(name, begins[i], strlen(begins[i])))
            return true;
    return false;
}

static void know_ops(const struct top_ops *ops, struct torch_known *known)
{
    known->op_calls = ops->calls;
    for (size_t i = 0; i < ops->count; i++) {
        const struct top_op *op = &ops->rows[i];
        const uint64_t ns = usual_ns(op);
        known->op_ns += ns;
        if (op->calls && ns / op->calls < SMALL_OP_NS)
            known->small_op_ns += ns;
        if (is_product(op->name))
            known->product_ns += ns;
    }
}

static bool is_compiled(const struct inventory *survey)
{
    for (uint32_t i = 0; i < survey->track_count; i++)
        if (survey->tracks[i].compiles)
            return true;
    return false;
}

static struct torch_known know(const struct torch_report *torch, const struct gait_trace *trace)
{
    const uint64_t *kinds = torch->flops.kinds;
    const uint64_t low = kinds[PEAK_16_BIT] + kinds[PEAK_FP8];
    struct torch_known known = {.lacks_optimizer = !torch->has_optimizer,
                                .is_compiled = is_compiled(&torch->survey),
                                .has_device = torch->device != NULL,
                                .is_low_precision = low > torch->flops.total / 2,
                                .can_fuse =
                                    !has_fused_optimizer(&torch->ops) && has_fused_form(trace),
                                .resident_bytes = torch->memory.rss_bytes,
                                .fetch_ns = torch->loading.fetch_ns,
                                .fetches = torch->loading.fetches,
                                .workers = torch->loading.workers,
                                .worker_processes = torch->loading.processes};
    if (torch->rank_count) {
        known.clocked_ns = torch->ranks[0].clocked_ns;
        known.cpu_ns = torch->ranks[0].cpu_ns;
    }
    know_ops(&torch->ops, &known);
    return known;
}

static struct slow_rank slow_rank_of(const struct torch_report *torch, uint64_t total_ns)
{
    const struct torch_slow *slow = &torch->slow;
    return (struct slow_rank){.is_known = slow->is_known,
                              .rank = slow->rank,
                              .phase = torch->phases.names[slow->phase],
                              .work =
                                  torch_judged_work(slow->phase, torch->phases.names[slow->phase]),
                              .ns = slow->ns,
                              .total_ns = total_ns};
}

static bool is_of_loop(unsigned part)
{
    return part != RUN_START_UP && part != RUN_AFTER;
}

// Of a PyTorch run the parts are known, of rank 0's process.
static struct steps_in_run steps_in_run(const struct run_report *report)
{
    struct steps_in_run in_run = {.run_ns = (uint64_t)report->wall_ns,
                                  .loop_ns = report->ledger.total_ns};
    if (!report->torch || !report->torch->rank_count)
        return in_run;
    const struct run_parts *run = &report->torch->ranks[0].run;
    in_run = (struct steps_in_run){.run_ns = run->total_ns};
    for (unsigned i = 0; i < RUN_PART_COUNT; i++) {
        in_run.loop_ns += is_of_loop(i) ? run->parts[i] : 0;
        if (!is_of_loop(i) && run->parts[i] > in_run.outside_ns) {
            in_run.outside = run_part_names[i];
            in_run.outside_ns = run->parts[i];
        }
    }
    return in_run;
}

// The rank's steps, saving and evaluation are one loop, in which each waits for the other.
static void judge_loop(const struct torch_report *torch, struct judged_part *parts,
                       struct judged *judged)
{
    static const struct {
        enum run_part part;
        enum work_kind work;
    } outside[] = {{RUN_EVALUATION, WORK_EVAL_MODE},
                   {RUN_CHECKPOINT, WORK_SAVING},
                   {RUN_BETWEEN, WORK_UNKNOWN}};
    uint64_t sum_ns = 0;
    if (!torch->rank_count)
        return;
    const struct run_parts *run = &torch->ranks[0].run;
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++)
        sum_ns += run->parts[outside[i].part];
    if (sum_ns < judged->total_ns / 100)
        return;
    judged->total_ns += sum_ns;
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++)
        if (run->parts[outside[i].part])
            parts[judged->count++] =
                (struct judged_part){run_part_names[outside[i].part], outside[i].work,
                                     run->parts[outside[i].part], true};
}

// Of a PyTorch run those behind the first one that did not compile, if there are some.
static struct step_spread spread_of(const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    const bool is_steady = torch && torch->steady.count && !torch->chosen;
    const struct steps_summary *steps = is_steady ? &torch->steady : &report->steps;
    struct step_spread spread = {.least_ns = steps->least_ns,
                                 .p50_ns = steps->p50_ns,
                                 .max_ns = steps->max_ns,
                                 .slowest = steps->slowest,
                                 .far = steps->far,
                                 .far_ns = (uint64_t)steps->far_ns,
                                 .total_ns = (uint64_t)report->steps.total_ns,
                                 .told = steps->count,
                                 .count = report->steps.count};
    if (torch) {
        const unsigned phase = torch->slowest_phase;
        spread.slowest_work = torch_judged_work(phase, torch->phases.names[phase]);
        spread.first_ns = (uint64_t)torch->first_ns;
    }
    return spread;
}

// Waiting for others is no work of a rank's own.
static void choose_ranks(const struct torch_report *torch, struct verdict_facts *facts)
{
    uint64_t longest_ns = 0, busiest_ns = 0;
    for (size_t i = 0; i < torch->rank_count && torch->rank_count > 1; i++) {
        const struct torch_rank *rank = &torch->ranks[i];
        const uint64_t own_ns = rank->total_ns - rank->phases[TORCH_COMMUNICATION];
        if (rank->total_ns > longest_ns)
            facts->longest_rank = rank->rank;
        if (own_ns > busiest_ns)
            facts->busiest_rank = rank->rank;
        longest_ns = rank->total_ns > longest_ns ? rank->total_ns : longest_ns;
        busiest_ns = own_ns > busiest_ns ? own_ns : busiest_ns;
    }
}

static void judge_whole(const struct torch_report *torch, uint64_t ledger_ns,
                        struct judged_part *parts, struct verdict_facts *facts)
{
    facts->slow = slow_rank_of(torch, ledger_ns);
    facts->processor_wait_ns = torch->vitals.wait.ns;
    facts->processor_of_ns = torch->vitals.wait.of_ns;
    judge_loop(torch, parts, &facts->judged);
}

int run_verdict_make(struct run_report *report, struct gait_trace *trace)
{
    const struct report_ledger *ledger = &report->ledger;
    const struct torch_report *torch = report->torch;
    const struct steps_summary *steps = &report->steps;
    // what others lost does not touch the steps
    const bool is_about_some = ledger->events + ledger->dropped > 0;
    struct verdict_facts facts = {.events = is_about_some ? ledger->events : report->events,
                                  .dropped = is_about_some ? ledger->dropped : report->dropped,
                                  .damages = report->damage_count,
                                  .gaps = report->gap_count,
                                  .is_disk_full = lost_to_full_disk(report),
                                  .has_samples = report->has_samples,
                                  .is_cut = report->cut_trace != NULL,
                                  .is_imported = report->is_imported,
                                  .has_torch = report->has_torch,
                                  .steps = steps->count,
                                  .open_steps = report->open_steps,
                                  .longest_rank = -1,
                                  .busiest_rank = -1};
    struct torch_known known;                    // the facts point at it
    const bool is_part = report->devices.chosen; // then what is told of a whole run is left out
    const size_t room = ledger->count + TORCH_MOST_PHASES + 2 + RUN_PART_COUNT;
    struct judged_part *parts = arena_take(&report->arena, room * sizeof *parts);
    if (!parts)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu phases", room);
    if (!is_part) {
        facts.in_run = steps_in_run(report);
        facts.spread = spread_of(report);
    }
    if (torch) {
        known = know(torch, trace);
        facts.torch = &known;
        judge_found(torch, parts, &facts.judged);
        if (!is_part)
            judge_whole(torch, ledger->total_ns, parts, &facts);
        choose_ranks(torch, &facts);
    } else {
        judge_marked(report, parts, &facts);
    }
    if (!is_part)
        facts.failure = failure_facts_find(trace);
    const int status = device_facts_find(report, trace, &facts);
    if (!status)
        verdict_make(&facts, &report->verdict);
    return status;
}
