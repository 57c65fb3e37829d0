// SPDX-License-Identifier: Apache-2.0
// One rule a function. The limits are judgement: from there on a remedy is
// worth the time it takes to read about it.
#include "analyse/findings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "analyse/run_report.h"
#include "analyse/torch_report.h"

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
    TAIL_TIMES = 3,
    SET_UP_PERCENT = 50,
};

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? (double)part * 100 / (double)whole : 0;
}

static struct finding *add(struct findings *findings, const char *id, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// There is always room: every rule adds one at most.
static struct finding *add(struct findings *findings, const char *id, const char *format, ...)
{
    struct finding *finding = &findings->rows[findings->count++];
    va_list args;
    *finding = (struct finding){.id = id};
    va_start(args, format);
    vsnprintf(finding->text, sizeof finding->text, format, args);
    va_end(args);
    return finding;
}

static void rest_on(struct finding *finding, const char *key, uint64_t value)
{
    if (finding->figure_count < FINDINGS_MOST_FIGURES)
        finding->figures[finding->figure_count++] = (struct finding_figure){key, value};
}

static void tell_no_optimizer(struct findings *findings, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    uint64_t backwards = 0;
    for (uint32_t i = 0; i < torch->survey.track_count; i++)
        backwards += torch->survey.tracks[i].backwards;
    if (torch->has_optimizer)
        return;
    const char *instead = report->steps.count
                              ? torch->ranks[0].is_marked
                                    ? "the steps are those that gait.step() marked"
                                    : "each batch that was learned from counts as a step"
                              : "so there are no steps; mark them with gait.step()";
    struct finding *finding = add(findings, "no_optimizer", "no optimizer was found: %s", instead);
    rest_on(finding, "backwards", backwards);
    rest_on(finding, "steps", report->steps.count);
}

// Who made the batches: processes of their own, or the training thread.
static void tell_input(struct findings *findings, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    uint64_t input = torch->totals[TORCH_INPUT], fetch = 0, collate = 0, workers = 0;
    double share = percent(input, report->ledger.total_ns);
    char where[160] = "";
    if (share < INPUT_PERCENT || report->steps.count < FEW_STEPS)
        return;
    for (uint32_t i = 0; i < torch->survey.shard_count; i++) {
        fetch += torch->survey.shards[i].fetch_ns;
        collate += torch->survey.shards[i].collate_ns;
        workers += torch->survey.shards[i].fetch_ns > 0 && !torch->survey.shards[i].is_stepping;
    }
    if (fetch && workers)
        snprintf(where, sizeof where, "; collate takes %.0f %% of the work in %" PRIu64 " worker%s",
                 percent(collate, fetch), workers, workers == 1 ? "" : "s");
    else if (fetch)
        snprintf(where, sizeof where,
                 "; batches are made in the training's own thread (num_workers=0), %.0f %% of it "
                 "in collate",
                 percent(collate, fetch));
    struct finding *finding = add(findings, "input_waits",
                                  "waiting for input takes %.0f %% of the steps%s", share, where);
    rest_on(finding, "input_ns", input);
    if (fetch) {
        rest_on(finding, "fetch_ns", fetch);
        rest_on(finding, "collate_ns", collate);
        rest_on(finding, "workers", workers);
    }
}

// What is said of steps is about a part of the run, and a small one at times.
static void tell_set_up(struct findings *findings, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    const uint64_t steps_ns = report->ledger.total_ns, wall_ns = (uint64_t)report->wall_ns;
    const int64_t before_ns = torch->first_start_ns - report->start_ns;
    if (!report->steps.count || before_ns <= 0 || percent(steps_ns, wall_ns) >= SET_UP_PERCENT ||
        percent((uint64_t)before_ns, wall_ns) < SET_UP_PERCENT)
        return;
    struct finding *finding =
        add(findings, "set_up",
            "%.0f %% of the run, %.1f s, passed before the first step: imports and set-up, "
            "which the steps above do not hold",
            percent((uint64_t)before_ns, wall_ns), (double)before_ns / 1e9);
    rest_on(finding, "before_ns", (uint64_t)before_ns);
    rest_on(finding, "wall_ns", wall_ns);
}

struct share_rule {
    const char *id, *key, *text; // of the text, the first %% is the share
    unsigned phase, least_percent;
};

static const struct share_rule share_rules[] = {
    {"copies", "copy_ns",
     "moving data between devices or types takes %.0f %% of the steps: pin "
     "memory and copy ahead, or move it once",
     TORCH_COPY, COPY_PERCENT},
    {"garbage", "gc_ns",
     "Python's garbage collector takes %.1f %% of the steps: gc.freeze() "
     "after set-up, or collect between epochs only",
     TORCH_GC, GC_PERCENT},
    {"checkpoints", "checkpoint_ns",
     "saving takes %.0f %% of the steps: save less often, or in "
     "the background",
     TORCH_CHECKPOINT, CHECKPOINT_PERCENT},
    {"evaluation", "evaluation_ns",
     "evaluation takes %.0f %% of the steps: evaluate less often, "
     "or on fewer samples",
     TORCH_EVALUATION, EVALUATION_PERCENT},
    {"communication", "communication_ns",
     "waiting for other ranks and talking to them takes "
     "%.0f %% of the steps",
     TORCH_COMMUNICATION, COMMUNICATION_PERCENT},
    {"logging", "logging_ns", "logging takes %.0f %% of the steps: log less often", TORCH_LOGGING,
     LOGGING_PERCENT},
    {"unexplained", "other_ns",
     "%.0f %% of the steps lie in none of the phases, but in the loop's own Python: "
     "gait run --sample 1000 shows which functions, gait.phase() names parts",
     TORCH_OTHER, OTHER_PERCENT},
};

static void tell_shares(struct findings *findings, const struct run_report *report)
{
    if (report->steps.count < FEW_STEPS)
        return;
    for (size_t i = 0; i < sizeof share_rules / sizeof share_rules[0]; i++) {
        const struct share_rule *rule = &share_rules[i];
        uint64_t ns = report->torch->totals[rule->phase];
        double share = percent(ns, report->ledger.total_ns);
        if (share < rule->least_percent)
            continue;
        struct finding *finding = &findings->rows[findings->count++];
        *finding = (struct finding){.id = rule->id};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" // the table above holds them
        snprintf(finding->text, sizeof finding->text, rule->text, share);
#pragma GCC diagnostic pop
        rest_on(finding, rule->key, ns);
        rest_on(finding, "step_total_ns", report->ledger.total_ns);
    }
}

static void tell_compiling(struct findings *findings, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    if (!torch->compile_steps)
        return;
    struct finding *finding =
        add(findings, "recompiles",
            "%" PRIu64 " step%s after the first compiled, %.0f %% of the time: shapes, types or "
            "code paths changed",
            torch->compile_steps, torch->compile_steps == 1 ? "" : "s",
            percent(torch->compile_steps_ns, report->ledger.total_ns));
    rest_on(finding, "compile_steps", torch->compile_steps);
    rest_on(finding, "compile_steps_ns", torch->compile_steps_ns);
    rest_on(finding, "compile_ns", torch->totals[TORCH_COMPILE]);
}

static void tell_slow_rank(struct findings *findings, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    const struct torch_slow *slow = &torch->slow;
    if (!slow->is_known)
        return;
    struct finding *finding = add(
        findings, "slow_rank",
        "rank %" PRId64 " is the slowest: it loses %.1f ms a step in '%.60s', and the others "
        "wait for it",
        slow->rank, (double)slow->ns / 1e6 / (double)slow->steps, torch->phases.names[slow->phase]);
    rest_on(finding, "rank", (uint64_t)slow->rank);
    rest_on(finding, "ns", slow->ns);
}

static void tell_tail(struct findings *findings, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    const struct steps_summary *steady = &torch->steady;
    if (steady->count < FEW_STEPS || steady->max_ns / TAIL_TIMES < steady->p50_ns)
        return;
    struct finding *finding =
        add(findings, "slow_step",
            "step %" PRIu64 " took %.1f times the median, %.0f %% of it in '%.60s'",
            steady->slowest, (double)steady->max_ns / (double)steady->p50_ns,
            percent(torch->slowest_ns, (uint64_t)steady->max_ns),
            torch->phases.names[torch->slowest_phase]);
    rest_on(finding, "step", steady->slowest);
    rest_on(finding, "max_ns", (uint64_t)steady->max_ns);
    rest_on(finding, "p50_ns", (uint64_t)steady->p50_ns);
}

static void tell_lost(struct findings *findings, const struct run_report *report)
{
    const struct torch_lost *lost = &report->torch->lost;
    char shapes[64] = "", blocks[80] = "";
    if (!lost->shapes && !lost->blocks)
        return;
    if (lost->shapes)
        snprintf(shapes, sizeof shapes, "%" PRIu64 " ops have no shapes", lost->shapes);
    if (lost->blocks)
        snprintf(blocks, sizeof blocks, "the release of %" PRIu64 " blocks has no size",
                 lost->blocks);
    struct finding *finding =
        add(findings, "ops_lost",
            "windows held more than there is room for: %s%s%s; see fewer steps "
            "with --windows",
            shapes, lost->shapes && lost->blocks ? ", " : "", blocks);
    rest_on(finding, "shapes", lost->shapes);
    rest_on(finding, "blocks", lost->blocks);
}

void findings_make(struct findings *findings, const struct run_report *report)
{
    findings->count = 0;
    tell_no_optimizer(findings, report);
    tell_input(findings, report);
    tell_slow_rank(findings, report);
    tell_shares(findings, report);
    tell_compiling(findings, report);
    tell_tail(findings, report);
    tell_lost(findings, report);
    tell_set_up(findings, report);
}
