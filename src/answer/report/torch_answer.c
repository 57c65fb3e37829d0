// SPDX-License-Identifier: Apache-2.0
// One section a function. What is not known or says nothing gets none.
#include "answer/report/torch_answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"
#include "answer/answer_parts.h"
#include "answer/report/screen_answer.h"
#include "answer/report/work_answer.h"
#include "answer/sentence_text.h"
#include "answer/sheet.h"
#include "base/units.h"

enum {
    MOST_FINDINGS = 5,
    SCREEN_FINDINGS = 3,
    OPS_SEEN = 8,
    MOST_OPS = 100,
    MOST_RANKS = 8,
    MOST_EPOCHS = 10,
    LARGEST_PHASES = 3, // named of each epoch and rank
    LARGEST_BYTES = 45, // what is left of a line
};

// --- steps -----------------------------------------------------------------------------

// Figures with too many digits would feign what nobody measured.
static void add_rate(char *text, size_t room, double rate, const char *unit)
{
    const size_t used = strlen(text);
    const char *comma = used ? ", " : "";
    if (rate >= 100)
        snprintf(text + used, room - used, "%s%s %s", comma,
                 units_count((uint64_t)(rate + 0.5)).text, unit);
    else if (rate > 0)
        snprintf(text + used, room - used, "%s%#.3g %s", comma, rate, unit);
}

static void say_throughput(struct sheet *sheet, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    const struct torch_throughput *throughput = &torch->throughput;
    char text[240] = "";
    if (!(throughput->steps_per_s > 0))
        return;
    add_rate(text, sizeof text, throughput->samples_per_s, "samples/s");
    // 17 % more than trl tells of a fine-tuning, which leaves padding out
    add_rate(text, sizeof text, throughput->tokens_per_s, "tokens/s with padding");
    add_rate(text, sizeof text, throughput->steps_per_s, "steps/s");
    if (torch->memory.rss_bytes)
        snprintf(text + strlen(text), sizeof text - strlen(text), "; resident peak %s",
                 units_bytes(torch->memory.rss_bytes).text);
    sheet_say(sheet, SAY_PARAGRAPH, text);
}

static struct value known(double rate)
{
    return value_if(rate > 0, value_real(rate));
}

static void put_throughput(struct sheet *sheet, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    say_throughput(sheet, report);
    sheet_object(sheet, "throughput");
    sheet_put(sheet, "steps_per_s", known(torch->throughput.steps_per_s));
    sheet_put(sheet, "samples_per_s", known(torch->throughput.samples_per_s));
    sheet_put(sheet, "tokens_per_s", known(torch->throughput.tokens_per_s));
    sheet_put(sheet, "samples", value_uint(torch->samples));
    sheet_put(sheet, "tokens", value_uint(torch->tokens));
    sheet_end(sheet);
}

static void say_apart(struct sheet *sheet, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    const int64_t inside_ns = report->steps.total_ns - torch->training.total_ns;
    char text[300] = "not included: ";
    if (torch->steady.count)
        snprintf(text + strlen(text), sizeof text - strlen(text), "the first step, %s; ",
                 units_ns(torch->first_ns).text);
    if (torch->steady.count && torch->compile_steps)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s step%s that compiled, %s; ",
                 units_count(torch->compile_steps).text, units_plural(torch->compile_steps),
                 units_ns((int64_t)torch->compile_steps_ns).text);
    if (inside_ns)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "evaluation and checkpoints inside of steps, %s; ", units_ns(inside_ns).text);
    if (!torch->steady.count && !inside_ns)
        return;
    text[strlen(text) - 2] = '\0';
    sheet_fold(sheet, true);
    sheet_say(sheet, SAY_ITEM, text);
    sheet_fold(sheet, false);
}

// What is counted and averaged is one set: the steady steps, where there are any, each
// less the evaluation and the checkpoints inside of it.
static const struct steps_summary *steps_seen(const struct torch_report *torch)
{
    return torch->steady.count ? &torch->steady : &torch->training;
}

// Percentiles of steps, and the slowest. People see those of one set.
static void put_percentiles(struct sheet *sheet, const struct torch_report *torch,
                            const struct steps_summary *steps)
{
    const bool is_seen = steps == steps_seen(torch);
    char where[120] = "", remark[160];
    if (torch->steady.count && steps->max_ns - steps->p50_ns > steps->p50_ns)
        snprintf(where, sizeof where, ", most in %.40s", torch->phases.names[torch->slowest_phase]);
    sheet_put(sheet, "steps", value_uint(steps->count));
    sheet_value(sheet, "p50_ns", is_seen ? "p50" : NULL, UNIT_NS, value_int(steps->p50_ns));
    sheet_value(sheet, "p95_ns", is_seen ? "p95" : NULL, UNIT_NS, value_int(steps->p95_ns));
    sheet_put(sheet, "p99_ns", value_int(steps->p99_ns));
    sheet_value(sheet, "max_ns", is_seen ? "max" : NULL, UNIT_NS, value_int(steps->max_ns));
    snprintf(remark, sizeof remark, "step %" PRIu64 "%s", steps->slowest, where);
    sheet_remark(sheet, remark);
    sheet_put(sheet, "slowest", value_uint(steps->slowest));
}

static void put_training(struct sheet *sheet, const struct torch_report *torch)
{
    if (!torch->training.count) {
        sheet_put(sheet, "training_step", value_none());
        return;
    }
    sheet_object(sheet, "training_step");
    put_percentiles(sheet, torch, &torch->training);
    sheet_put(sheet, "total_ns", value_int(torch->training.total_ns));
    sheet_end(sheet);
}

static void put_steady(struct sheet *sheet, const struct torch_report *torch)
{
    sheet_put(sheet, "first_step_ns", value_int(torch->first_ns));
    sheet_put(sheet, "compile_steps", value_uint(torch->compile_steps));
    sheet_put(sheet, "compile_steps_ns", value_uint(torch->compile_steps_ns));
    if (!torch->steady.count) {
        sheet_put(sheet, "steady_step", value_none());
        return;
    }
    sheet_object(sheet, "steady_step");
    put_percentiles(sheet, torch, &torch->steady);
    sheet_put(sheet, "slowest_phase", value_text(torch->phases.names[torch->slowest_phase]));
    sheet_put(sheet, "slowest_phase_ns", value_uint(torch->slowest_ns));
    sheet_end(sheet);
}

// Whose run it is that is told, where there are several: the first rank's.
static const char *whose_run(const struct run_report *report, char text[40])
{
    const struct torch_rank *first = report->torch->ranks;
    if (report->rank_count <= 1)
        return "the run";
    snprintf(text, 40, first->rank < 0 ? "pid %" PRId64 "'s run" : "rank %" PRId64 "'s run",
             first->rank < 0 ? first->pid : first->rank);
    return text;
}

static void say_steps(struct sheet *sheet, const struct run_report *report)
{
    const struct steps_summary *all = &report->steps, *steps = steps_seen(report->torch);
    const struct run_parts *run = &report->torch->ranks[0].run; // as the run's ledger has it
    const bool is_job = report->rank_count > 1 && report->torch->ranks[0].rank >= 0;
    char ranks[64] = "", steady[64] = "", open[64] = "", whose[40], text[360];
    if (report->open_steps)
        snprintf(open, sizeof open, "; %s not finished", units_count(report->open_steps).text);
    if (report->rank_count > 1)
        snprintf(ranks, sizeof ranks,
                 is_job ? " on %" PRIu32 " ranks" : ", the most of %" PRIu32 " processes",
                 report->rank_count);
    if (report->torch->steady.count)
        snprintf(steady, sizeof steady, "the %s steady one%s took ", units_count(steps->count).text,
                 units_plural(steps->count));
    snprintf(text, sizeof text, "%s%s, %s of %s; %s%s on average%s%s", units_count(all->count).text,
             ranks, units_share(run->parts[RUN_STEPS], run->total_ns).text,
             whose_run(report, whose), steady,
             units_ns(steps->total_ns / (int64_t)steps->count).text,
             is_job ? " (slowest rank)" : "", open);
    sheet_section(sheet, "Steps", text);
}

void torch_answer_put_steps(struct sheet *sheet, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    const bool has_steps = report->steps.count && torch->rank_count && steps_seen(torch)->count;
    if (has_steps)
        say_steps(sheet, report);
    put_training(sheet, torch);
    put_steady(sheet, torch);
    if (has_steps)
        say_apart(sheet, report);
    put_throughput(sheet, report);
    work_answer_put_flops(sheet, report);
}

// --- the whole run ---------------------------------------------------------------------

static const struct column run_columns[] = {
    {.key = "name", .label = "", .width = 30, .flags = COLUMN_LEFT},
    {.key = "total_ns", .label = "total", .unit = UNIT_NS, .width = 10},
    {.label = "share", .unit = UNIT_SHARE, .width = 20},
    {.label = "", .flags = COLUMN_BAR},
};
enum { RUN_COLUMNS = sizeof run_columns / sizeof run_columns[0] };

static void put_run_row(struct sheet *sheet, const char *name, uint64_t ns, uint64_t whole_ns,
                        unsigned flags)
{
    const struct value cells[RUN_COLUMNS] = {
        value_text(name), value_uint(ns), value_share(ns, whole_ns),
        flags & (ROW_TOTAL | ROW_PEOPLE) ? value_none() : value_uint(ns)};
    sheet_row(sheet, cells, flags);
}

// How much of the run lies before its recording, where its process told when it began.
static void put_run_start(struct sheet *sheet, const struct process_life *life)
{
    if (!life->start_error_ns) {
        sheet_put(sheet, "run_start", value_none());
        return;
    }
    sheet_object(sheet, "run_start");
    sheet_put(sheet, "unrecorded_ns", value_uint(process_life_unrecorded_ns(life)));
    sheet_put(sheet, "error_ns", value_uint(life->start_error_ns));
    sheet_end(sheet);
}

// A rank's process, from its start to its end; people see the parts that are there.
// Without steps there is nothing to tell start from end by: no parts.
static void put_run(struct sheet *sheet, const struct table *table, const char *heading,
                    const struct torch_rank *rank)
{
    const struct run_parts *run = &rank->run;
    const uint64_t unrecorded_ns = process_life_unrecorded_ns(&rank->life);
    sheet_table(sheet, table);
    if (heading && run->total_ns)
        sheet_heading(sheet, heading);
    for (unsigned i = 0; run->total_ns && i < RUN_PART_COUNT; i++) {
        put_run_row(sheet, run_part_names[i], run->parts[i], run->total_ns,
                    run->parts[i] ? 0 : ROW_HIDDEN);
        if (i == RUN_START_UP && unrecorded_ns)
            put_run_row(sheet, "  of it before the recording", unrecorded_ns, run->total_ns,
                        ROW_PEOPLE);
    }
    if (run->total_ns)
        put_run_row(sheet, "= the run", run->total_ns, run->total_ns, ROW_TOTAL);
    sheet_end(sheet);
    put_run_start(sheet, &rank->life);
}

static void put_whole_run(struct sheet *sheet, const struct run_report *report)
{
    static const struct table table = {.key = "run", .columns = run_columns, .count = RUN_COLUMNS};
    static const struct torch_rank nobody = {.rank = -1};
    const struct torch_report *torch = report->torch;
    char whose[40], heading[64];
    snprintf(heading, sizeof heading, "Time of %s", whose_run(report, whose));
    put_run(sheet, &table, heading, torch->rank_count ? &torch->ranks[0] : &nobody);
}

// --- findings --------------------------------------------------------------------------

// The first screen has a few of those that nothing else on it says.
static void say_findings(struct sheet *sheet, const struct run_report *report)
{
    const struct findings *findings = &report->torch->findings;
    const size_t most = report->rank_count > 1 ? SCREEN_FINDINGS - 1 : SCREEN_FINDINGS;
    size_t others = 0, seen = 0;
    char text[SENTENCE_BYTES];
    for (size_t i = 0; i < findings->count; i++)
        others += !findings->rows[i].is_told;
    if (!findings->count)
        return;
    sheet_fold(sheet, !others);
    sheet_section(sheet, "Findings", "");
    for (size_t i = 0; i < findings->count && i < MOST_FINDINGS; i++) {
        const bool is_seen = !findings->rows[i].is_told && seen < most;
        seen += is_seen;
        sentence_finding(&findings->rows[i], text, sizeof text);
        sheet_fold(sheet, !is_seen);
        sheet_say(sheet, SAY_BULLET, text);
    }
    sheet_fold(sheet, true);
    if (findings->count > MOST_FINDINGS) {
        snprintf(text, sizeof text, "(%zu more: see --json)", findings->count - MOST_FINDINGS);
        sheet_say(sheet, SAY_ITEM, text);
    }
    sheet_fold(sheet, false);
}

static void put_findings(struct sheet *sheet, const struct run_report *report)
{
    static const struct column columns[] = {{.key = "id"}, {.key = "text"}};
    static const struct table table = {.key = "findings", .columns = columns, .count = 2};
    const struct findings *findings = &report->torch->findings;
    say_findings(sheet, report);
    sheet_table(sheet, &table);
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->rows[i];
        char text[SENTENCE_BYTES];
        sentence_finding(finding, text, sizeof text);
        SHEET_ROW(sheet, value_text(sentence_finding_id(finding)), value_text(text));
        answer_put_evidence(sheet, "evidence", &finding->evidence);
    }
    sheet_end(sheet);
}

// --- ranks and epochs ------------------------------------------------------------------

// The largest phases of a ledger: "forward 61 %, backward 20 %".
static void name_largest(const struct torch_report *torch, const uint64_t *sums, uint64_t whole,
                         char *out, size_t room)
{
    bool is_named[TORCH_MOST_PHASES] = {false};
    *out = '\0';
    for (unsigned named = 0; named < LARGEST_PHASES; named++) {
        unsigned most = TORCH_MOST_PHASES;
        for (unsigned i = 0; i < torch->phases.count; i++)
            if (!is_named[i] && sums[i] && (most == TORCH_MOST_PHASES || sums[i] > sums[most]))
                most = i;
        if (most == TORCH_MOST_PHASES)
            return;
        char piece[80];
        is_named[most] = true;
        snprintf(piece, sizeof piece, "%s%.16s %.0f %%", named ? ", " : "",
                 torch->phases.names[most], (double)sums[most] * 100 / (double)whole);
        size_t used = strlen(out), more = strlen(piece);
        if (used + more >= room)
            return;
        memcpy(out + used, piece, more + 1);
    }
}

static const struct column phase_columns[] = {
    {.key = "name"}, {.key = "total_ns"}, {.key = "share"}};
static const struct table phase_table = {.key = "phases", .columns = phase_columns, .count = 3};

static void put_phases(struct sheet *sheet, const struct torch_report *torch, const uint64_t *sums)
{
    uint64_t whole = 0;
    for (unsigned i = 0; i < torch->phases.count; i++)
        whole += sums[i];
    sheet_table(sheet, &phase_table);
    for (unsigned i = 0; i < torch->phases.count; i++)
        SHEET_ROW(sheet, value_text(torch->phases.names[i]), value_uint(sums[i]),
                  value_share(sums[i], whole));
    sheet_end(sheet);
}

void torch_answer_put_no_phases(struct sheet *sheet, const struct torch_report *torch)
{
    static const uint64_t nothing[TORCH_MOST_PHASES];
    if (torch) {
        put_phases(sheet, torch, nothing);
        return;
    }
    sheet_table(sheet, &phase_table);
    sheet_end(sheet);
}

static const struct column rank_columns[] = {
    {.label = "", .width = 11, .flags = COLUMN_LEFT},
    {.key = "rank"},
    {.key = "pid"},
    {.key = "steps", .label = "steps", .unit = UNIT_COUNT, .width = 8},
    {.key = "step_total_ns", .label = "total", .unit = UNIT_NS, .width = 11},
    {.label = "most of it", .flags = COLUMN_LEFT},
};

static void put_rank(struct sheet *sheet, const struct torch_report *torch,
                     const struct torch_rank *rank)
{
    static const struct table run = {.key = "run", .columns = run_columns, .count = RUN_COLUMNS};
    char name[32], largest[LARGEST_BYTES];
    snprintf(name, sizeof name, rank->rank < 0 ? "pid %" PRId64 : "%" PRId64,
             rank->rank < 0 ? rank->pid : rank->rank);
    name_largest(torch, rank->phases, rank->total_ns, largest, sizeof largest);
    SHEET_ROW(sheet, value_text(name), value_rank(rank->rank), value_int(rank->pid),
              value_uint(rank->steps), value_uint(rank->total_ns), value_text(largest));
    put_phases(sheet, torch, rank->phases);
    put_run(sheet, &run, NULL, rank);
}

static void put_ranks(struct sheet *sheet, const struct run_report *report)
{
    static const struct table table = {.key = "ranks",
                                       .heading = "Ranks",
                                       .columns = rank_columns,
                                       .count = 6,
                                       .most = MOST_RANKS,
                                       .more = "more"};
    static const struct table data = {.key = "ranks", .columns = rank_columns, .count = 6};
    const struct torch_report *torch = report->torch;
    const bool is_seen = torch->rank_count > 1;
    sheet_table(sheet, is_seen ? &table : &data);
    if (is_seen && (report->rank_count <= 1 || torch->ranks[0].rank < 0))
        sheet_heading(sheet, "Processes");
    for (size_t i = 0; i < torch->rank_count; i++)
        put_rank(sheet, torch, &torch->ranks[i]);
    sheet_end(sheet);
}

static void put_slow_rank(struct sheet *sheet, const struct torch_report *torch)
{
    if (!torch->slow.is_known) {
        sheet_put(sheet, "slow_rank", value_none());
        return;
    }
    sheet_object(sheet, "slow_rank");
    sheet_put(sheet, "rank", value_rank(torch->slow.rank));
    sheet_put(sheet, "phase", value_text(torch->phases.names[torch->slow.phase]));
    sheet_put(sheet, "ns", value_uint(torch->slow.ns));
    sheet_end(sheet);
}

static const struct column epoch_columns[] = {
    {.label = "", .width = 10, .flags = COLUMN_LEFT},
    {.key = "first_step"},
    {.key = "steps", .label = "steps", .unit = UNIT_COUNT, .width = 9},
    {.key = "total_ns", .label = "total", .unit = UNIT_NS, .width = 11},
    {.key = "wall_ns"},
    {.label = "most of it", .flags = COLUMN_LEFT},
};

static void put_epoch(struct sheet *sheet, const struct torch_report *torch, size_t number,
                      unsigned flags)
{
    const struct torch_epoch *epoch = &torch->epochs[number];
    char name[32], largest[LARGEST_BYTES];
    const char *mark = !(flags & ROW_LAST) ? "" : number < 100 ? "slowest " : "max "; // 10 columns
    snprintf(name, sizeof name, "%s%zu", mark, number);
    name_largest(torch, epoch->phases, epoch->total_ns, largest, sizeof largest);
    const struct value cells[] = {value_text(name),           value_uint(epoch->first_step),
                                  value_uint(epoch->steps),   value_uint(epoch->total_ns),
                                  value_uint(epoch->wall_ns), value_text(largest)};
    sheet_row(sheet, cells, flags);
    if (!flags)
        put_phases(sheet, torch, epoch->phases);
}

static size_t slowest_epoch(const struct torch_report *torch)
{
    size_t slowest = 0;
    for (size_t i = 1; i < torch->epoch_count; i++)
        if (torch->epochs[i].total_ns > torch->epochs[slowest].total_ns)
            slowest = i;
    return slowest;
}

// All that fit; of more the first, the newest, and the slowest behind them.
static void put_epochs(struct sheet *sheet, const struct torch_report *torch)
{
    static const struct table table = {.key = "epochs",
                                       .heading = "Epochs",
                                       .columns = epoch_columns,
                                       .count = 6,
                                       .most = MOST_EPOCHS,
                                       .more = "more",
                                       .keeps_newest = true};
    static const struct table data = {.key = "epochs", .columns = epoch_columns, .count = 6};
    if (torch->epochs_why) {
        char text[300];
        snprintf(text, sizeof text, "not known: %s", sentence_note(torch->epochs_why));
        sheet_section(sheet, "Epochs", text);
    }
    sheet_table(sheet, torch->epoch_count > 1 ? &table : &data);
    for (size_t i = 0; i < torch->epoch_count; i++)
        put_epoch(sheet, torch, i, 0);
    if (torch->epoch_count > MOST_EPOCHS)
        put_epoch(sheet, torch, slowest_epoch(torch), ROW_PEOPLE | ROW_LAST);
    sheet_end(sheet);
    sheet_put(sheet, "epochs_why", value_text(sentence_note(torch->epochs_why)));
}

// --- ops -------------------------------------------------------------------------------

static const struct column op_columns[] = {
    {.key = "name", .label = "", .width = 32, .flags = COLUMN_LEFT},
    {.key = "calls", .label = "calls", .unit = UNIT_COUNT, .width = 8},
    {.key = "self_ns", .label = "self", .unit = UNIT_NS, .width = 10},
    {.label = "a step", .unit = UNIT_NS, .width = 10},
    {.key = "total_ns"},
    {.key = "op_share", .label = "of ops", .unit = UNIT_SHARE, .width = 8},
    {.key = "step_share", .label = "of step", .unit = UNIT_SHARE, .width = 8},
};
enum { OP_COLUMNS = sizeof op_columns / sizeof op_columns[0] };

static void put_top_ops(struct sheet *sheet, const struct top_ops *ops, uint64_t steps,
                        uint64_t steps_ns)
{
    static const struct table table = {.key = "top",
                                       .heading = "Ops",
                                       .columns = op_columns,
                                       .count = OP_COLUMNS,
                                       .most = OPS_SEEN};
    static const struct table data = {.key = "top", .columns = op_columns, .count = OP_COLUMNS};
    char heading[80];
    sheet_table(sheet, ops->count ? &table : &data);
    snprintf(heading, sizeof heading, "Ops of %s step%s", units_count(steps).text,
             units_plural(steps));
    if (ops->count)
        sheet_heading(sheet, heading);
    for (size_t i = 0; i < ops->count && i < MOST_OPS; i++) {
        const struct top_op *op = &ops->rows[i];
        const struct value cells[OP_COLUMNS] = {
            value_text(op->name),
            value_uint(op->calls),
            value_uint(op->self_ns),
            value_if(steps, value_uint(op->self_ns / (steps + !steps))),
            value_uint(op->total_ns),
            value_share(op->self_ns, ops->self_ns),
            value_share(op->self_ns, steps_ns),
        };
        sheet_row(sheet, cells, 0);
    }
    sheet_end(sheet);
}

static enum note why_no_ops(const struct run_report *report, uint64_t recorded_ns)
{
    if (report->torch->ops.count)
        return NOTE_NONE;
    if (report->is_imported)
        return NOTE_OPS_NONE_IN_TRACE;
    if (recorded_ns)
        return NOTE_OPS_NONE_RAN;
    return report->steps.count ? NOTE_OPS_NO_WINDOW : NOTE_OPS_NO_STEPS;
}

static void put_ops(struct sheet *sheet, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    const uint64_t steps = torch->rank_count ? torch->ranks[0].recorded : 0;
    const uint64_t steps_ns = torch->rank_count ? torch->ranks[0].recorded_ns : 0;
    const char *why = sentence_note(why_no_ops(report, steps_ns));
    sheet_fold(sheet, false);
    if (why)
        sheet_section(sheet, "Ops", why);
    sheet_fold(sheet, true);
    sheet_object(sheet, "ops");
    sheet_put(sheet, "why", value_text(why));
    sheet_put(sheet, "steps", value_uint(steps));
    sheet_put(sheet, "steps_ns", value_uint(steps_ns));
    sheet_put(sheet, "calls", value_uint(torch->ops.calls));
    sheet_put(sheet, "self_ns", value_uint(torch->ops.self_ns));
    put_top_ops(sheet, &torch->ops, steps, steps_ns);
    sheet_end(sheet);
}

void torch_answer_put_more(struct sheet *sheet, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    sheet_fold(sheet, true);
    put_whole_run(sheet, report);
    sheet_fold(sheet, false);
    put_findings(sheet, report);
    sheet_fold(sheet, report->judged_count > 1); // who have a table of their own
    put_ranks(sheet, report);
    put_slow_rank(sheet, torch);
    sheet_fold(sheet, true);
    put_epochs(sheet, torch);
    sheet_fold(sheet, false);
    screen_say_run(sheet, report);
    screen_say_ops(sheet, report);
    sheet_fold(sheet, true);
    put_ops(sheet, report);
    work_answer_put_memory(sheet, report);
    sheet_fold(sheet, false);
}

// --- what it cost ----------------------------------------------------------------------

void torch_answer_name_cost(const struct torch_report *torch, char *out, size_t room)
{
    char share[48] = "";
    *out = '\0';
    if (torch->cost.is_unmeasured)
        snprintf(out, room, ", hooks not known");
    if (torch->cost.steps_ns)
        snprintf(share, sizeof share, " (%s of the steps)",
                 units_share(torch->cost.hooks_ns, torch->cost.steps_ns).text);
    if (torch->cost.is_known)
        snprintf(out, room, ", hooks %s%s", units_ns((int64_t)torch->cost.hooks_ns).text, share);
    if (torch->cost.devices_ns)
        snprintf(out + strlen(out), room - strlen(out), ", devices %s between steps",
                 units_ns((int64_t)torch->cost.devices_ns).text);
}

void torch_answer_put_cost(struct sheet *sheet, const struct torch_report *torch)
{
    const struct torch_cost *cost = &torch->cost;
    sheet_put(sheet, "hooks_ns", value_if(cost->is_known, value_uint(cost->hooks_ns)));
    sheet_put(sheet, "step_share",
              value_if(cost->is_known, value_share(cost->hooks_ns, cost->steps_ns)));
    sheet_put(sheet, "devices_ns", value_if(cost->devices_ns > 0, value_uint(cost->devices_ns)));
    sheet_put(sheet, "device_windows", value_uint(cost->device_windows));
}
