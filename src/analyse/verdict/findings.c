// SPDX-License-Identifier: Apache-2.0
// One rule a function. The limits are judgement: from there on a remedy is
// worth the time it takes to read about it.
#include "analyse/verdict/findings.h"

#include <string.h>

#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"
#include "analyse/verdict/lead.h"
#include "analyse/verdict/loader_workers.h"
#include "analyse/verdict/verdict.h"

enum {
    FEW_STEPS = 5,
    FEW_KERNELS = 100,
    PAGEABLE_PERCENT = 2, // figures of quiet runs differ by as much
    COMPILE_PERCENT = 5,
    SET_UP_PERCENT = 50,
    OUTSIDE_PERCENT = 20, // of the run
    AFTER_PERCENT = 10,   // too
    BUSY_PERCENT = 5,
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

static void tell_busy_machine(struct findings *findings, const struct run_report *report)
{
    const struct processor_wait *wait = &report->torch->vitals.wait;
    if (percent(wait->ns, wait->of_ns) < BUSY_PERCENT)
        return;
    struct finding *finding = add(findings, FINDING_BUSY_MACHINE);
    finding->is_told = percent(wait->ns, wait->of_ns) >= WORTH_PERCENT;
    evidence_share(&finding->evidence, "share", wait->ns, wait->of_ns);
    evidence_ns(&finding->evidence, "wait_ns", wait->ns);
    evidence_ns(&finding->evidence, "of_ns", wait->of_ns);
    if (wait->rank >= 0)
        evidence_number(&finding->evidence, "rank", (uint64_t)wait->rank);
}

static void tell_missing_ranks(struct findings *findings, const struct run_report *report)
{
    if (!report->ranks_missing)
        return;
    struct finding *finding = add(findings, FINDING_MISSING_RANKS);
    finding->is_told = true; // the first line says so
    evidence_count(&finding->evidence, "here", report->ranks_here);
    evidence_count(&finding->evidence, "missing", report->ranks_missing);
    evidence_count(&finding->evidence, "ranks", report->ranks_here + report->ranks_missing);
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
    finding->is_told = !report->steps.count;
    const enum note none = report->open_steps ? NOTE_STEPS_UNENDED : NOTE_STEPS_NONE;
    go_on(finding, !has_steps                              ? none
                   : torch->ranks[0].is_marked             ? marked
                   : torch->rounds == TORCH_ROUNDS_FORWARD ? NOTE_STEPS_BY_FORWARD
                                                           : NOTE_STEPS_BY_BACKWARD);
    evidence_count(&finding->evidence, "backwards", backwards);
    evidence_count(&finding->evidence, "steps", report->steps.count);
}

// Figures of the clause that the verdict rests on, too.
static void take_over(struct evidence *evidence, const struct evidence *from)
{
    static const char *const keys[] = {"small_ops_share", "cpu_share"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct evidence_row *row = evidence_find(from, keys[i], strlen(keys[i]));
        if (row && evidence->count < EVIDENCE_MOST)
            evidence->rows[evidence->count++] = *row;
    }
}

static const struct judged_rank *rank_of(const struct run_report *report, uint32_t shard)
{
    for (size_t i = 0; i < report->judged_count; i++)
        if (report->judged[i].judged.shard == shard)
            return &report->judged[i];
    return NULL;
}

void findings_rest_on(const struct run_report *report, const struct verdict_part *part,
                      struct evidence *evidence)
{
    const struct verdict *verdict = &report->verdict;
    const struct judged_rank *rank = rank_of(report, verdict->shard);
    lead_rest_on(verdict, part, evidence);
    evidence_work(evidence, "work", part->work);
    take_over(evidence, &verdict->evidence);
    if (verdict->is_of_devices && rank)
        evidence_number(evidence, "rank", (uint64_t)rank->rank);
}

// The verdict's own parts behind its lead, as it counts them: of devices, where these are judged,
// phases of a thread are no causes.
static void tell_parts(struct findings *findings, const struct run_report *report)
{
    static const enum finding_number numbers[WORK_KINDS] = {
        [WORK_UNKNOWN] = FINDING_UNEXPLAINED, [WORK_INPUT] = FINDING_INPUT,
        [WORK_PEERS] = FINDING_COMMUNICATION, [WORK_SAVING] = FINDING_CHECKPOINTS,
        [WORK_TESTING] = FINDING_EVALUATION,  [WORK_EVAL_MODE] = FINDING_EVALUATION,
        [WORK_COMPILING] = FINDING_COMPILING, [WORK_COLLECTING] = FINDING_GARBAGE,
        [WORK_COPYING] = FINDING_COPIES,      [WORK_LOGGING] = FINDING_LOGGING,
        [WORK_WAITING] = FINDING_PEER_WAITS,  [WORK_SYNC] = FINDING_SYNC,
        [WORK_HOST] = FINDING_HOST,           [WORK_PYTHON] = FINDING_PYTHON,
        [WORK_BLOCKED] = FINDING_BLOCKED};
    const struct verdict *verdict = &report->verdict;
    for (size_t i = 0; i < verdict->part_count; i++) {
        const struct verdict_part *part = &verdict->parts[i];
        if (!verdict_is_beside(verdict, i))
            continue;
        struct finding *finding = add(findings, numbers[part->work]);
        finding->is_told = true;
        go_on(finding, part->why);
        findings_rest_on(report, part, &finding->evidence);
        if (part->work == WORK_UNKNOWN && !verdict->is_of_devices)
            go_on(finding, report->has_samples ? NOTE_BY_STACKS : NOTE_BY_SAMPLING);
    }
}

// Where input is worth a word: who made the batches, processes of their own or the training
// thread.
static void tell_loading(struct findings *findings, const struct run_report *report)
{
    const struct loader_work *loading = &report->torch->loading;
    const struct verdict *verdict = &report->verdict;
    bool is_worth = false;
    for (size_t i = 0; i < verdict->part_count; i++)
        is_worth |= verdict->parts[i].work == WORK_INPUT &&
                    verdict_percent(verdict->parts[i].ns, verdict->parts[i].of_ns) >= WORTH_PERCENT;
    if (!is_worth || !loading->fetch_ns)
        return;
    struct finding *finding = add(findings, FINDING_LOADING);
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
    finding->is_told = true; // the line about the run says as much
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
    evidence_steps(&finding->evidence, &torch->compiled);
}

static void tell_slow_rank(struct findings *findings, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    const struct torch_slow *slow = &torch->slow;
    if (!slow->is_known || report->verdict.number == VERDICT_SLOW_RANK)
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
    finding->is_told = true; // the line about steps names it and its phase
    evidence_number(&finding->evidence, "step", steady->slowest);
    evidence_ns(&finding->evidence, "max_ns", (uint64_t)steady->max_ns);
    evidence_ns(&finding->evidence, "p50_ns", (uint64_t)steady->p50_ns);
    evidence_times(&finding->evidence, "times", (double)steady->max_ns / (double)steady->p50_ns);
    evidence_text(&finding->evidence, "phase", torch->phases.names[torch->slowest_phase]);
    evidence_share(&finding->evidence, "phase_share", torch->slowest_ns, (uint64_t)steady->max_ns);
    evidence_steps(&finding->evidence, &torch->slow_steps);
    if (torch->slow_steps.count > 1)
        go_on(finding, NOTE_SLOW_STEPS);
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
    if (growth->has_steps) {
        evidence_number(&finding->evidence, "first_step", growth->first_step);
        evidence_number(&finding->evidence, "last_step", growth->last_step);
        go_on(finding, NOTE_GROWS_FROM);
    }
    go_on(finding, NOTE_KEEPS);
    if (growth->rank >= 0)
        evidence_number(&finding->evidence, "rank", (uint64_t)growth->rank);
}

// One step that holds far more than those beside it.
static void tell_memory_spike(struct findings *findings, const struct run_report *report)
{
    const struct memory_spike *spike = &report->torch->vitals.spike;
    if (!spike->bytes)
        return;
    struct finding *finding = add(findings, FINDING_MEMORY_SPIKE);
    evidence_number(&finding->evidence, "step", spike->step);
    evidence_bytes(&finding->evidence, "bytes", spike->bytes);
    evidence_bytes(&finding->evidence, "usual_bytes", spike->usual_bytes);
    evidence_text(&finding->evidence, "device", report->torch->memory.device);
    if (!spike->op || !*spike->op)
        return;
    evidence_text(&finding->evidence, "op", spike->op);
    evidence_bytes(&finding->evidence, "op_bytes", spike->op_bytes);
    go_on(finding, NOTE_SPIKE_OP);
}

struct device_rule {
    enum finding_number number;
    const char *count_key, *all_key;
    uint64_t count, all, ns;
    unsigned least_percent;
};

static void tell_device(struct findings *findings, const struct breakdown_rank *rank,
                        int64_t number, const struct device_rule *rule)
{
    if (percent(rule->ns, rank->whole.span_ns) < rule->least_percent)
        return;
    struct finding *finding = add(findings, rule->number);
    evidence_count(&finding->evidence, rule->count_key, rule->count);
    evidence_count(&finding->evidence, rule->all_key, rule->all);
    evidence_ns(&finding->evidence, "ns", rule->ns);
    evidence_share(&finding->evidence, "share", rule->ns, rank->whole.span_ns);
    evidence_base(&finding->evidence, "of", BASE_WINDOW);
    evidence_number(&finding->evidence, "rank", (uint64_t)number);
}

// What a kernel does in less than 10 us costs the host as much to launch; and a copy from memory
// that is not pinned keeps it waiting, which a flag mends.
static void tell_devices(struct findings *findings, const struct run_report *report)
{
    const struct judged_rank *judged = rank_of(report, report->verdict.shard);
    for (size_t i = 0; report->verdict.is_of_devices && judged && i < report->devices.count; i++) {
        const struct breakdown_rank *rank = &report->devices.ranks[i];
        const struct device_rule small = {
            FINDING_SMALL_KERNELS,      "small_kernels", "kernels",    rank->small,
            rank->events[LANE_COMPUTE], rank->small_ns,  WORTH_PERCENT};
        const struct device_rule pageable = {
            FINDING_PAGEABLE_COPIES, "pageable_copies", "copies",        rank->pageable,
            rank->events[LANE_COPY], rank->pageable_ns, PAGEABLE_PERCENT};
        if (rank->shard != report->verdict.shard)
            continue;
        if (rank->small >= FEW_KERNELS)
            tell_device(findings, rank, judged->rank, &small);
        if (rank->pageable)
            tell_device(findings, rank, judged->rank, &pageable);
    }
}

// Steps last as long as the rank with the most work of its own.
static void tell_uneven_ranks(struct findings *findings, const struct run_report *report)
{
    const struct judged_rank *most = report->judged, *least = report->judged;
    for (size_t i = 1; i < report->judged_count; i++) {
        const struct judged_rank *rank = &report->judged[i];
        most = rank->own_ns > most->own_ns ? rank : most;
        least = rank->own_ns < least->own_ns ? rank : least;
    }
    if (report->judged_count < 2 ||
        percent(most->own_ns - least->own_ns, most->own_ns) < WORTH_PERCENT)
        return;
    struct finding *finding = add(findings, FINDING_UNEVEN_RANKS);
    finding->is_told = true; // the table of ranks shows it
    evidence_number(&finding->evidence, "rank", (uint64_t)most->rank);
    evidence_ns(&finding->evidence, "own_ns", most->own_ns);
    evidence_number(&finding->evidence, "least_rank", (uint64_t)least->rank);
    evidence_ns(&finding->evidence, "least_own_ns", least->own_ns);
    evidence_base(&finding->evidence, "of", most->judged.is_window ? BASE_WINDOW : BASE_STEP);
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

// What no part of the verdict is about: of a loop these are parts themselves.
static void tell_outside(struct findings *findings, const struct run_report *report)
{
    static const struct outside_rule {
        enum finding_number number;
        enum run_part part;
        unsigned least_percent;
        bool is_unnamed; // the script's own code
        bool is_in_loop;
    } rules[] = {
        {FINDING_EVALUATION_OUTSIDE, RUN_EVALUATION, OUTSIDE_PERCENT, false, true},
        {FINDING_CHECKPOINTS_OUTSIDE, RUN_CHECKPOINT, OUTSIDE_PERCENT, false, true},
        {FINDING_BETWEEN, RUN_BETWEEN, OUTSIDE_PERCENT, true, true},
        {FINDING_AFTER, RUN_AFTER, AFTER_PERCENT, true, false},
    };
    const bool is_loop = report->verdict.part_count && report->verdict.base == BASE_LOOP;
    const struct torch_report *torch = report->torch;
    for (size_t i = 0; torch->rank_count && i < sizeof rules / sizeof rules[0]; i++) {
        const struct run_parts *run = &torch->ranks[0].run;
        const uint64_t ns = run->parts[rules[i].part];
        if (percent(ns, run->total_ns) < rules[i].least_percent || (is_loop && rules[i].is_in_loop))
            continue;
        struct finding *finding = add(findings, rules[i].number);
        finding->is_told = rules[i].part == RUN_AFTER; // the line about the run says as much
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
    tell_missing_ranks(findings, report);
    tell_no_optimizer(findings, report);
    tell_parts(findings, report);
    tell_loading(findings, report);
    tell_slow_rank(findings, report);
    tell_uneven_ranks(findings, report);
    tell_outside(findings, report);
    tell_devices(findings, report);
    tell_compiled_once(findings, report);
    tell_recompiles(findings, report);
    tell_items(findings, report);
    tell_memory_grows(findings, report);
    tell_memory_spike(findings, report);
    tell_tail(findings, report);
    tell_lost(findings, report);
    tell_set_up(findings, report);
}
