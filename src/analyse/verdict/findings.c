// SPDX-License-Identifier: Apache-2.0
// One rule a function. The limits are judgement: from there on a remedy is
// worth the time it takes to read about it.
#include "analyse/verdict/findings.h"

#include <string.h>

#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"
#include "analyse/verdict/loader_workers.h"

enum {
    FEW_STEPS = 5,
    INPUT_PERCENT = 10,
    COPY_PERCENT = 10,
    GC_PERCENT = 2,
    CHECKPOINT_PERCENT = 5,
    LOGGING_PERCENT = 3,
    EVALUATION_PERCENT = 20,
    COMMUNICATION_PERCENT = 20,
    OTHER_PERCENT = 25,
    COMPILE_PERCENT = 5,
    TAIL_TIMES = 3,
    SET_UP_PERCENT = 50,
    OUTSIDE_PERCENT = 20, // of the run
    AFTER_PERCENT = 10,   // too
    BUSY_PERCENT = 5,     // figures of quiet runs differ by some 2 %
    ITEM_PERCENT = 2,
    FEW_ITEMS = 10, // a step: a loss, a norm
};

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? (double)part * 100 / (double)whole : 0;
}

// There is always room: every rule adds its own number, and once.
static struct finding *add(struct findings *findings, enum finding_number number)
{
    struct finding *finding = &findings->rows[findings->count++];
    *finding = (struct finding){.number = number};
    return finding;
}

static void go_on(struct finding *finding, enum note note)
{
    if (finding->more_count < FINDING_MOST_NOTES)
        finding->more[finding->more_count++] = note;
}

// What is said of the steps that are judged.
static void rest_on_share(struct finding *finding, const struct torch_judged *judged, uint64_t ns)
{
    evidence_share(&finding->evidence, "share", ns, judged->total_ns);
    evidence_text(&finding->evidence, "of", judged->is_steady ? "steady steps" : "steps");
    evidence_ns(&finding->evidence, "steps_ns", judged->total_ns);
}

static void tell_busy_machine(struct findings *findings, const struct run_report *report)
{
    const struct processor_wait *wait = &report->torch->vitals.wait;
    if (percent(wait->ns, wait->of_ns) < BUSY_PERCENT)
        return;
    struct finding *finding = add(findings, FINDING_BUSY_MACHINE);
    evidence_share(&finding->evidence, "share", wait->ns, wait->of_ns);
    evidence_ns(&finding->evidence, "wait_ns", wait->ns);
    evidence_ns(&finding->evidence, "of_ns", wait->of_ns);
    if (wait->rank >= 0)
        evidence_number(&finding->evidence, "rank", (uint64_t)wait->rank);
}

static void tell_no_optimizer(struct findings *findings, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    uint64_t backwards = 0;
    for (uint32_t i = 0; i < torch->survey.track_count; i++)
        backwards += torch->survey.tracks[i].backwards;
    if (torch->has_optimizer)
        return;
    const bool has_steps = report->steps.count && torch->rank_count;
    const enum note marked = report->is_imported ? NOTE_STEPS_NUMBERED : NOTE_STEPS_MARKED;
    struct finding *finding = add(findings, FINDING_NO_OPTIMIZER);
    const enum note none = report->open_steps ? NOTE_STEPS_UNENDED : NOTE_STEPS_NONE;
    go_on(finding, !has_steps                              ? none
                   : torch->ranks[0].is_marked             ? marked
                   : torch->rounds == TORCH_ROUNDS_FORWARD ? NOTE_STEPS_BY_FORWARD
                                                           : NOTE_STEPS_BY_BACKWARD);
    evidence_count(&finding->evidence, "backwards", backwards);
    evidence_count(&finding->evidence, "steps", report->steps.count);
}

// Who made the batches: processes of their own, or the training thread.
static void tell_input(struct findings *findings, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    const struct loader_work *loading = &torch->loading;
    const uint64_t input = torch->judged.phases[TORCH_INPUT];
    if (percent(input, torch->judged.total_ns) < INPUT_PERCENT || report->steps.count < FEW_STEPS)
        return;
    struct finding *finding = add(findings, FINDING_INPUT);
    evidence_ns(&finding->evidence, "input_ns", input);
    rest_on_share(finding, &torch->judged, input);
    if (!loading->fetch_ns)
        return;
    go_on(finding, loading->workers > 1 ? NOTE_IN_WORKERS
                   : loading->workers   ? NOTE_IN_WORKER
                                        : NOTE_IN_OWN_THREAD);
    evidence_ns(&finding->evidence, "fetch_ns", loading->fetch_ns);
    evidence_ns(&finding->evidence, "collate_ns", loading->collate_ns);
    evidence_share(&finding->evidence, "collate_share", loading->collate_ns, loading->fetch_ns);
    evidence_count(&finding->evidence, "workers", loading->workers);
}

// What is said of steps is about a part of the run, and a small one at times.
static void tell_set_up(struct findings *findings, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    const struct run_parts *run = torch->rank_count ? &torch->ranks[0].run : NULL;
    if (!run || percent(run->parts[RUN_STEPS], run->total_ns) >= SET_UP_PERCENT ||
        percent(run->parts[RUN_START_UP], run->total_ns) < SET_UP_PERCENT)
        return;
    const uint64_t before_ns = run->parts[RUN_START_UP];
    const uint64_t unrecorded_ns = process_life_unrecorded_ns(&torch->ranks[0].life);
    struct finding *finding = add(findings, FINDING_SET_UP);
    const bool is_split = unrecorded_ns && unrecorded_ns < before_ns;
    go_on(finding, is_split ? NOTE_SET_UP_IMPORTS : NOTE_SET_UP);
    if (is_split) {
        evidence_ns(&finding->evidence, "unrecorded_ns", unrecorded_ns);
        evidence_ns(&finding->evidence, "set_up_ns", before_ns - unrecorded_ns);
    }
    evidence_ns(&finding->evidence, "before_ns", before_ns);
    evidence_ns(&finding->evidence, "wall_ns", run->total_ns);
    evidence_share(&finding->evidence, "share", before_ns, run->total_ns);
}

struct share_rule {
    const char *key;
    enum finding_number number;
    unsigned phase, least_percent;
    enum note advice; // what a verdict of that work says, too; or NOTE_NONE
};

static const struct share_rule share_rules[] = {
    {"copy_ns", FINDING_COPIES, TORCH_COPY, COPY_PERCENT, NOTE_TRY_COPYING},
    {"gc_ns", FINDING_GARBAGE, TORCH_GC, GC_PERCENT, NOTE_TRY_COLLECTING},
    {"checkpoint_ns", FINDING_CHECKPOINTS, TORCH_CHECKPOINT, CHECKPOINT_PERCENT, NOTE_TRY_SAVING},
    {"evaluation_ns", FINDING_EVALUATION, TORCH_EVALUATION, EVALUATION_PERCENT, NOTE_NONE},
    {"communication_ns", FINDING_COMMUNICATION, TORCH_COMMUNICATION, COMMUNICATION_PERCENT,
     NOTE_NONE},
    {"logging_ns", FINDING_LOGGING, TORCH_LOGGING, LOGGING_PERCENT, NOTE_TRY_LOGGING},
    {"other_ns", FINDING_UNEXPLAINED, TORCH_OTHER, OTHER_PERCENT, NOTE_NONE},
};

static void tell_shares(struct findings *findings, const struct run_report *report)
{
    const struct torch_judged *judged = &report->torch->judged;
    if (report->steps.count < FEW_STEPS)
        return;
    for (size_t i = 0; i < sizeof share_rules / sizeof share_rules[0]; i++) {
        const struct share_rule *rule = &share_rules[i];
        const uint64_t ns = judged->phases[rule->phase];
        if (percent(ns, judged->total_ns) < rule->least_percent)
            continue;
        struct finding *finding = add(findings, rule->number);
        evidence_ns(&finding->evidence, rule->key, ns);
        rest_on_share(finding, judged, ns);
        evidence_ns(&finding->evidence, "step_total_ns", report->ledger.total_ns);
        if (rule->advice)
            go_on(finding, rule->advice);
        if (rule->phase == TORCH_OTHER)
            go_on(finding, report->has_samples ? NOTE_BY_STACKS : NOTE_BY_SAMPLING);
    }
}

// Compiling that came with the first step, or before it, is no matter of shapes.
static void tell_compiled_once(struct findings *findings, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    const uint64_t first_ns = torch->apart.first_compile_ns;
    const uint64_t before_ns = torch->apart.before_compile_ns;
    if (!report->steps.count || torch->judged.compiles_on ||
        percent(first_ns + before_ns, report->ledger.total_ns) < COMPILE_PERCENT)
        return;
    struct finding *finding = add(findings, FINDING_COMPILED_ONCE);
    go_on(finding, !before_ns  ? NOTE_IN_FIRST
                   : !first_ns ? NOTE_BEFORE_FIRST
                               : NOTE_BEFORE_AND_IN_FIRST);
    if (!torch->compile_steps)
        go_on(finding, NOTE_NOT_AGAIN);
    evidence_ns(&finding->evidence, "compile_ns", first_ns + before_ns);
    evidence_ns(&finding->evidence, "before_ns", before_ns);
    evidence_ns(&finding->evidence, "first_step_ns", (uint64_t)torch->first_ns);
    evidence_ns(&finding->evidence, "step_total_ns", report->ledger.total_ns);
}

static void tell_recompiles(struct findings *findings, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    if (!torch->compile_steps)
        return;
    struct finding *finding = add(findings, FINDING_RECOMPILES);
    evidence_count(&finding->evidence, "compile_steps", torch->compile_steps);
    evidence_ns(&finding->evidence, "compile_steps_ns", torch->compile_steps_ns);
    evidence_ns(&finding->evidence, "compile_ns", torch->totals[TORCH_COMPILE]);
    evidence_share(&finding->evidence, "share", torch->compile_steps_ns, report->ledger.total_ns);
}

static void tell_slow_rank(struct findings *findings, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    const struct torch_slow *slow = &torch->slow;
    if (!slow->is_known)
        return;
    struct finding *finding = add(findings, FINDING_SLOW_RANK);
    evidence_number(&finding->evidence, "rank", (uint64_t)slow->rank);
    evidence_ns(&finding->evidence, "ns", slow->ns);
    evidence_ns(&finding->evidence, "a_step_ns", slow->ns / slow->steps);
    evidence_text(&finding->evidence, "phase", torch->phases.names[slow->phase]);
}

static void tell_tail(struct findings *findings, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    const struct steps_summary *steady = &torch->steady;
    if (steady->count < FEW_STEPS || steady->max_ns / TAIL_TIMES < steady->p50_ns)
        return;
    struct finding *finding = add(findings, FINDING_SLOW_STEP);
    evidence_number(&finding->evidence, "step", steady->slowest);
    evidence_ns(&finding->evidence, "max_ns", (uint64_t)steady->max_ns);
    evidence_ns(&finding->evidence, "p50_ns", (uint64_t)steady->p50_ns);
    evidence_times(&finding->evidence, "times", (double)steady->max_ns / (double)steady->p50_ns);
    evidence_text(&finding->evidence, "phase", torch->phases.names[torch->slowest_phase]);
    evidence_share(&finding->evidence, "phase_share", torch->slowest_ns, (uint64_t)steady->max_ns);
}

static void tell_memory_grows(struct findings *findings, const struct run_report *report)
{
    const struct memory_growth *growth = &report->torch->vitals.growth;
    if (!growth->is_known)
        return;
    struct finding *finding = add(findings, FINDING_MEMORY_GROWS);
    evidence_bytes(&finding->evidence, "a_step_bytes", growth->a_step_bytes);
    evidence_bytes(&finding->evidence, "grown_bytes", growth->bytes);
    evidence_ns(&finding->evidence, "in_ns", growth->ns);
    evidence_bytes(&finding->evidence, "to_bytes", growth->to_bytes);
    if (growth->rank >= 0)
        evidence_number(&finding->evidence, "rank", (uint64_t)growth->rank);
}

static void tell_lost(struct findings *findings, const struct run_report *report)
{
    const struct torch_lost *lost = &report->torch->lost;
    if (!lost->shapes && !lost->blocks)
        return;
    struct finding *finding = add(findings, FINDING_OPS_LOST);
    if (lost->shapes)
        go_on(finding, NOTE_NO_SHAPES);
    if (lost->shapes && lost->blocks)
        go_on(finding, NOTE_AND);
    if (lost->blocks)
        go_on(finding, NOTE_NO_BLOCKS);
    go_on(finding, NOTE_FEWER_STEPS);
    evidence_count(&finding->evidence, "shapes", lost->shapes);
    evidence_count(&finding->evidence, "blocks", lost->blocks);
}

// item(), float(), a number of a tensor that is printed: all the same op.
static void tell_items(struct findings *findings, const struct run_report *report)
{
    static const char name[] = "aten::item";
    const struct torch_report *torch = report->torch;
    const struct top_ops *ops = &torch->ops;
    const struct torch_rank *rank = torch->ranks;
    for (size_t i = 0; torch->rank_count && i < ops->count; i++) {
        const struct top_op *op = &ops->rows[i];
        if (strcmp(op->name, name) != 0 || op->calls / FEW_ITEMS < rank->recorded ||
            !rank->recorded || percent(op->total_ns, rank->recorded_ns) < ITEM_PERCENT)
            continue;
        struct finding *finding = add(findings, FINDING_ITEMS);
        evidence_count(&finding->evidence, "a_step", op->calls / rank->recorded);
        evidence_share(&finding->evidence, "share", op->total_ns, rank->recorded_ns);
        evidence_count(&finding->evidence, "calls", op->calls);
        evidence_ns(&finding->evidence, "ns", op->total_ns);
    }
}

// What the shares of the steps cannot show.
static void tell_outside(struct findings *findings, const struct run_report *report)
{
    static const struct outside_rule {
        enum finding_number number;
        enum run_part part;
        unsigned least_percent;
        bool is_unnamed; // the script's own code
    } rules[] = {
        {FINDING_EVALUATION_OUTSIDE, RUN_EVALUATION, OUTSIDE_PERCENT, false},
        {FINDING_CHECKPOINTS_OUTSIDE, RUN_CHECKPOINT, OUTSIDE_PERCENT, false},
        {FINDING_BETWEEN, RUN_BETWEEN, OUTSIDE_PERCENT, true},
        {FINDING_AFTER, RUN_AFTER, AFTER_PERCENT, true},
    };
    const struct torch_report *torch = report->torch;
    for (size_t i = 0; torch->rank_count && i < sizeof rules / sizeof rules[0]; i++) {
        const struct run_parts *run = &torch->ranks[0].run;
        const uint64_t ns = run->parts[rules[i].part];
        if (percent(ns, run->total_ns) < rules[i].least_percent)
            continue;
        struct finding *finding = add(findings, rules[i].number);
        if (rules[i].is_unnamed)
            go_on(finding, report->has_samples ? NOTE_OUTSIDE_BY_STACKS : NOTE_OUTSIDE_BY_SAMPLING);
        evidence_share(&finding->evidence, "share", ns, run->total_ns);
        evidence_ns(&finding->evidence, "ns", ns);
        evidence_ns(&finding->evidence, "run_ns", run->total_ns);
    }
}

void findings_make(struct findings *findings, const struct run_report *report)
{
    findings->count = 0;
    tell_busy_machine(findings, report);
    tell_no_optimizer(findings, report);
    tell_input(findings, report);
    tell_slow_rank(findings, report);
    tell_outside(findings, report);
    tell_shares(findings, report);
    tell_compiled_once(findings, report);
    tell_recompiles(findings, report);
    tell_items(findings, report);
    tell_memory_grows(findings, report);
    tell_tail(findings, report);
    tell_lost(findings, report);
    tell_set_up(findings, report);
}
