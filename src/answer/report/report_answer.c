// SPDX-License-Identifier: Apache-2.0
// One section a function, in the order of the screen. What is zero or absent is not said
// to people; data has all keys always.
#define _GNU_SOURCE
#include "answer/report/report_answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/report/run_report.h"
#include "analyse/report/run_where.h"
#include "analyse/report/torch_report.h"
#include "answer/answer_parts.h"
#include "answer/device/device_table.h"
#include "answer/device/ledgers.h"
#include "answer/energy/energy_answer.h"
#include "answer/rank_gaps.h"
#include "answer/report/report_ends.h"
#include "answer/report/screen_answer.h"
#include "answer/report/torch_answer.h"
#include "answer/report/verdict_answer.h"
#include "base/buffer.h"
#include "base/file_name.h"
#include "base/json_reader.h"
#include "base/units.h"
#include "vocabulary/metadata.h"

enum {
    MOST_PHASES = 12,
    MOST_THREADS = 8,
    MOST_DROPS = 4,
    MOST_DAMAGE = 3,
    MOST_LINES = 3,     // of a phase
    LEAST_SAMPLES = 10, // of a phase: a half of 10 is known to ± 16 %
};

// What an answer is made from, and the sheet that it goes on.
struct making {
    struct sheet *sheet;
    const struct run_report *report;
    const struct gait_trace *trace;
    const char *path;
    struct run_where where;
};

static void put_title(const struct making *making)
{
    const struct run_report *report = making->report;
    char text[400];
    snprintf(text, sizeof text, "%" PRIu32 " process%s, %s, %s event%s in %s",
             report->process_count, report->process_count == 1 ? "" : "es",
             units_ns(report->wall_ns).text, units_count(report->events).text,
             units_plural(report->events), units_bytes(report->overhead.bytes).text);
    sheet_title(making->sheet, making->path, text);
}

static void say_ignored(const struct making *making)
{
    for (size_t i = 0; i < making->report->ignored_count; i++) {
        char text[600];
        snprintf(text, sizeof text, "ignored setting in process %" PRId64 ": %.500s",
                 making->report->ignored[i].pid, making->report->ignored[i].words);
        sheet_say(making->sheet, SAY_ALERT, text);
    }
}

// All figures are of what is left. A file that was not closed lacks its end only.
static void say_gaps(const struct making *making)
{
    const uint32_t gaps = making->report->gap_count;
    for (uint32_t i = 0; gaps && i < gait_trace_damage_count(making->trace); i++) {
        struct gait_damage_info damage;
        char text[1200], more[80] = "";
        if (gait_trace_damage(making->trace, i, &damage) || (damage.offset && !damage.bytes))
            continue;
        if (gaps > 1)
            snprintf(more, sizeof more, " (and %" PRIu32 " more place%s: see Damage)", gaps - 1,
                     units_plural(gaps - 1));
        snprintf(text, sizeof text, "gait cannot read all of the run: %.200s: %.800s%s",
                 file_name_of(damage.path), damage.what, more);
        sheet_say(making->sheet, SAY_ALERT, text);
        return;
    }
}

static void say_cut(const struct making *making)
{
    const char *source = making->report->cut_trace;
    char text[600];
    if (!source)
        return;
    snprintf(text, sizeof text,
             "the trace %.400s ends before it is complete: all below is of the part that is there",
             source);
    sheet_say(making->sheet, SAY_ALERT, text);
}

static void put_ignored(const struct making *making)
{
    static const struct column columns[] = {{.key = "pid"}, {.key = "text"}};
    static const struct table table = {.key = "settings_ignored", .columns = columns, .count = 2};
    const struct run_report *report = making->report;
    sheet_table(making->sheet, &table);
    for (size_t i = 0; i < report->ignored_count; i++) {
        const struct report_ignored *ignored = &report->ignored[i];
        SHEET_ROW(making->sheet, value_int(ignored->pid), value_text(ignored->words));
    }
    sheet_end(making->sheet);
}

// --- the verdict -----------------------------------------------------------------------

static bool is_plain_word(const char *text)
{
    const size_t plain = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789_./-");
    return *text && *text != '-' && !text[plain];
}

static const char *path_to_type(const struct making *making)
{
    return is_plain_word(making->path) ? making->path : "RUN";
}

// Stacks were taken: they know what the phase did, or waited in, and where there are no
// steps they are all that is known.
static void put_question(const struct making *making)
{
    const char *phase = making->report->verdict.phase;
    const char *path = path_to_type(making);
    char command[5000];
    if (!making->report->has_samples)
        return;
    if (phase && is_plain_word(phase))
        snprintf(command, sizeof command, "gait leaf --phase %s %s", phase, path);
    else if (!making->report->steps.count)
        snprintf(command, sizeof command, "gait leaf %s", path);
    else
        return;
    sheet_command(making->sheet, command);
}

static void put_verdict(const struct making *making)
{
    verdict_answer_put(making->sheet, &making->report->verdict);
    screen_put_bars(making->sheet, making->report);
    report_ends_failure(making->sheet, making->report, making->trace);
    put_question(making);
}

// --- steps and where they go -----------------------------------------------------------

static bool is_of_ranks(const struct run_report *report)
{
    bool has_rank = false;
    for (size_t i = 0; i < report->thread_count && !has_rank; i++)
        has_rank = report->threads[i].rank >= 0;
    return has_rank;
}

static void say_steps(const struct making *making)
{
    const struct run_report *report = making->report;
    const bool has_ranks = is_of_ranks(report);
    const struct steps_summary *steps = &report->steps;
    char ranks[64] = "", average[128] = "", open[64] = "", text[400];
    if (report->rank_count > 1)
        snprintf(ranks, sizeof ranks, " on %" PRIu32 " %s", report->rank_count,
                 has_ranks ? "ranks" : "processes");
    if (steps->count)
        snprintf(average, sizeof average, ", %s on average%s, %s of the run",
                 units_ns(steps->total_ns / (int64_t)steps->count).text,
                 !*ranks     ? ""
                 : has_ranks ? " (slowest rank)"
                             : " (slowest process)",
                 units_share((uint64_t)steps->total_ns, (uint64_t)report->wall_ns).text);
    if (report->open_steps)
        snprintf(open, sizeof open, "; %s not finished", units_count(report->open_steps).text);
    snprintf(text, sizeof text, "%s%s%s%s", units_count(steps->count).text, ranks, average, open);
    sheet_section(making->sheet, "Steps", text);
}

// Without steps there are no percentiles. People read them here or, of a PyTorch run,
// those of its steady steps (torch_answer.c).
static void put_percentiles(const struct making *making)
{
    const struct steps_summary *steps = &making->report->steps;
    const bool is_shown = !making->report->torch;
    struct sheet *sheet = making->sheet;
    char slowest[40];
    if (!steps->count) {
        sheet_put(sheet, "step", value_none());
        return;
    }
    sheet_object(sheet, "step");
    sheet_value(sheet, "p50_ns", is_shown ? "p50" : NULL, UNIT_NS, value_int(steps->p50_ns));
    sheet_value(sheet, "p95_ns", is_shown ? "p95" : NULL, UNIT_NS, value_int(steps->p95_ns));
    sheet_value(sheet, "p99_ns", is_shown ? "p99" : NULL, UNIT_NS, value_int(steps->p99_ns));
    sheet_value(sheet, "max_ns", is_shown ? "max" : NULL, UNIT_NS, value_int(steps->max_ns));
    snprintf(slowest, sizeof slowest, "step %" PRIu64, steps->slowest);
    sheet_remark(sheet, slowest);
    sheet_put(sheet, "slowest", value_uint(steps->slowest));
    sheet_end(sheet);
}

static void put_steps(const struct making *making)
{
    const struct run_report *report = making->report;
    sheet_put(making->sheet, "steps", value_uint(report->steps.count));
    sheet_put(making->sheet, "open_steps", value_uint(report->open_steps));
    sheet_put(making->sheet, "rank_count", value_uint(report->rank_count));
    if (!report->torch && (report->steps.count || report->open_steps))
        say_steps(making);
    put_percentiles(making);
    sheet_put(making->sheet, "step_total_ns", value_int(report->steps.total_ns));
}

static void put_curve(const struct making *making)
{
    static const struct series series = {.key = "step_curve",
                                         .heading = "Time of each step",
                                         .x_unit = UNIT_COUNT,
                                         .x_noun = " steps",
                                         .y_unit = UNIT_NS};
    static const struct series data = {.key = "step_curve"};
    const struct step_curve *curve = &making->report->step_curve;
    struct point points[STEP_CURVE_POINTS];
    for (size_t i = 0; i < curve->count; i++)
        points[i] = (struct point){(int64_t)curve->points[i].place, curve->points[i].longest_ns};
    sheet_series(making->sheet, curve->count > 1 ? &series : &data, points, curve->count);
}

enum { LEDGER_COLUMNS = 7 };

// Where samples tell of the code, it takes the room of the totals, which are so many steps.
#define LEDGER(name_width, of_total, each, code)                                                   \
    {                                                                                              \
        {.key = "name", .label = "", .width = (name_width), .flags = COLUMN_LEFT},                 \
            {.key = "total_ns",                                                                    \
             .label = "total",                                                                     \
             .unit = UNIT_NS,                                                                      \
             .width = 10,                                                                          \
             .flags = COLUMN_SUMS | (of_total)},                                                   \
            {.label = (each), .unit = UNIT_NS, .width = 11, .flags = COLUMN_SUMS},                 \
            {.key = "share",                                                                       \
             .label = "share",                                                                     \
             .unit = UNIT_SHARE,                                                                   \
             .width = 9,                                                                           \
             .flags = COLUMN_SUMS},                                                                \
            {.label = "", .width = (code) ? 8 : 0, .flags = COLUMN_BAR | COLUMN_SUMS},             \
            {.label = (code), .width = 23, .flags = COLUMN_LEFT | COLUMN_GOES},                    \
        {                                                                                          \
            .label = (code) ? "" : NULL, .unit = UNIT_SHARE, .width = 7, .flags = COLUMN_GOES      \
        }                                                                                          \
    }
#define CODE "where in your code"
static const struct column of_steps[LEDGER_COLUMNS] = LEDGER(30, 0, "a step", NULL);
static const struct column of_spans[LEDGER_COLUMNS] = LEDGER(30, 0, "a span", NULL);
static const struct column of_run[LEDGER_COLUMNS] = LEDGER(30, 0, "", NULL);
static const struct column of_steps_code[LEDGER_COLUMNS] =
    LEDGER(14, COLUMN_OF_PAGE, "a step", CODE);
static const struct column of_run_code[LEDGER_COLUMNS] = LEDGER(14, 0, NULL, CODE);
#define LEDGER_TABLE(of)                                                                           \
    {.key = "phases",                                                                              \
     .heading = "",                                                                                \
     .columns = (of),                                                                              \
     .count = LEDGER_COLUMNS,                                                                      \
     .most = MOST_PHASES,                                                                          \
     .more = "smaller",                                                                            \
     .falling_by = "total_ns"}
static const struct table ledger_of_steps = LEDGER_TABLE(of_steps);
static const struct table ledger_of_spans = LEDGER_TABLE(of_spans);
static const struct table ledger_of_run = LEDGER_TABLE(of_run);
static const struct table ledger_of_steps_code = LEDGER_TABLE(of_steps_code);
static const struct table ledger_of_run_code = LEDGER_TABLE(of_run_code);

// "train.py:6 augment"; of a module only the line. Of a few samples the share says nothing.
// Gives that share.
static struct value name_code(const struct run_where *where, const char *phase, char *out,
                              size_t room)
{
    const struct leaf_row *line = run_where_line(where, phase, 0);
    const uint64_t samples = run_where_samples(where, phase);
    if (!line || samples < LEAST_SAMPLES)
        return value_text("");
    const bool is_module = !strcmp(line->leaf->name, "<module>");
    snprintf(out, room, "%.200s:%" PRId32 "%s%.200s", file_name_of(line->leaf->path),
             line->leaf->line, is_module ? "" : " ", is_module ? "" : line->leaf->name);
    return value_share(line->count, samples);
}

static const struct table *ledger_table(const struct making *making)
{
    const struct torch_report *torch = making->report->torch;
    bool has_code = false;
    char words[500];
    for (unsigned i = 0; torch && i < torch->phases.count && !has_code; i++)
        has_code =
            value_is_number(name_code(&making->where, torch->phases.names[i], words, sizeof words));
    if (making->report->steps.count)
        return has_code ? &ledger_of_steps_code : &ledger_of_steps;
    if (!torch)
        return &ledger_of_spans;
    return has_code ? &ledger_of_run_code : &ledger_of_run;
}

// "1,346 samples" that the shares are of, together.
static void name_samples(const struct making *making, char *out, size_t room)
{
    const struct torch_report *torch = making->report->torch;
    uint64_t samples = 0;
    for (unsigned i = 0; torch && i < torch->phases.count; i++)
        samples += run_where_samples(&making->where, torch->phases.names[i]);
    if (samples)
        snprintf(out, room, "%s sample%s", units_count(samples).text, units_plural(samples));
}

static void put_phase(const struct making *making, const struct phase *phase, unsigned flags)
{
    const uint64_t steps = making->report->steps.count;
    char words[500] = "";
    // steps are the same of all phases, so that their shares of one add up; spans are not
    struct value each =
        steps ? value_uint(phase->total_ns / steps) : value_mean(phase->total_ns, phase->parts);
    if (each.kind == VALUE_NONE)
        each = value_text("");
    const struct value code = name_code(&making->where, phase->name, words, sizeof words);
    if (flags & ROW_TOTAL)
        name_samples(making, words, sizeof words);
    const struct value cells[LEDGER_COLUMNS] = {
        value_text(phase->name),
        value_uint(phase->total_ns),
        each,
        value_share(phase->total_ns, making->report->ledger.total_ns),
        flags & ROW_TOTAL ? value_none() : value_uint(phase->total_ns),
        value_text(words),
        code};
    sheet_row(making->sheet, cells, flags);
}

static void put_phases(const struct making *making)
{
    const struct run_report *report = making->report;
    const struct report_ledger *ledger = &report->ledger;
    for (size_t i = 0; !report->torch && i < ledger->count; i++)
        put_phase(making, &ledger->phases[i], 0);
    for (unsigned i = 0; report->torch && i < report->torch->phases.count; i++) {
        const struct phase phase = {.name = report->torch->phases.names[i],
                                    .total_ns = report->torch->totals[i]};
        put_phase(making, &phase, i == TORCH_OTHER ? ROW_LAST : 0);
    }
    const struct phase other = {.name = "other", .total_ns = ledger->other_ns};
    if (!report->torch)
        put_phase(making, &other, ROW_LAST);
    const struct phase all = {.name = report->steps.count ? "= all steps" : "= the run",
                              .total_ns = ledger->total_ns};
    put_phase(making, &all, ROW_TOTAL);
}

// Phases of the steps; a run without steps has those of its main thread instead, apart,
// so that `phases` always sums to step_total_ns.
static void put_ledger(const struct making *making)
{
    const struct run_report *report = making->report;
    const struct report_thread *thread = report->main_thread;
    struct sheet *sheet = making->sheet;
    char heading[80] = "Time per step";
    if (!report->steps.count) {
        torch_answer_put_no_phases(sheet, report->torch);
        if (!thread) {
            sheet_put(sheet, "whole_run", value_none());
            return;
        }
        sheet_object(sheet, "whole_run");
        sheet_put(sheet, "pid", value_int(thread->pid));
        sheet_put(sheet, "tid", value_int(thread->info.tid));
        sheet_put(sheet, "total_ns", value_uint(report->ledger.total_ns));
        snprintf(heading, sizeof heading, "Time of the run (thread %" PRId64 ")", thread->info.tid);
    }
    sheet_table(sheet, ledger_table(making));
    sheet_heading(sheet, heading);
    put_phases(making);
    sheet_end(sheet);
    if (!report->steps.count)
        sheet_end(sheet);
    if (report->ledger_failure) {
        char text[400];
        snprintf(text, sizeof text, "no phases: %.380s", report->ledger_failure);
        sheet_say(sheet, SAY_PARAGRAPH, text);
    }
}

// Of a phase the first lines, those of the run outside of its steps behind them.
static void put_where(const struct making *making)
{
    static const struct column columns[] = {
        {.key = "phase", .label = "", .flags = COLUMN_LEFT},
        {.key = "file", .label = "file", .flags = COLUMN_LEFT},
        {.key = "line", .label = "line"},
        {.key = "function", .label = "function", .flags = COLUMN_LEFT},
        {.key = "samples", .label = "samples", .unit = UNIT_COUNT},
        {.key = "share", .label = "of phase", .unit = UNIT_SHARE},
    };
    static const struct table data = {.key = "where", COLUMNS_ARE(columns)};
    static const struct table table = {
        .key = "where", .heading = "Where in your code", COLUMNS_ARE(columns), .is_of_page = true};
    const struct run_where *where = &making->where;
    sheet_table(making->sheet, where->lines.count ? &table : &data);
    for (unsigned i = 0; i < where->place_count; i++) {
        const char *name = where->places[i];
        const struct leaf_row *row;
        for (size_t n = 0; n < MOST_LINES && (row = run_where_line(where, name, n)); n++)
            SHEET_ROW(making->sheet, value_text(name), value_text(row->leaf->path),
                      value_if(row->leaf->line > 0, value_int(row->leaf->line)),
                      value_text(row->leaf->name), value_uint(row->count),
                      value_share(row->count, run_where_samples(where, name)));
    }
    sheet_end(making->sheet);
}

// --- threads ---------------------------------------------------------------------------

static const struct column thread_columns[] = {
    {.label = "", .width = 30, .flags = COLUMN_LEFT},
    {.key = "pid"},
    {.key = "rank"},
    {.key = "tid"},
    {.key = "track"},
    {.key = "name"},
    {.key = "kind"},
    {.key = "busy_ns", .label = "in spans", .unit = UNIT_NS, .width = 10},
    {.label = "of run", .unit = UNIT_SHARE, .width = 9},
    {.key = "events", .label = "events", .unit = UNIT_COUNT, .width = 13, .flags = COLUMN_SUMS},
    {.key = "dropped", .label = "lost", .unit = UNIT_COUNT, .width = 12, .flags = COLUMN_SUMS},
};
enum { THREAD_COLUMNS = sizeof thread_columns / sizeof thread_columns[0] };

// "rank 3, 4711 loader": as much of it as there is.
static void name_thread(const struct run_report *report, const struct report_thread *thread,
                        char *out, size_t room)
{
    char rank[32] = "", process[32] = "";
    bool is_first = thread->info.tid == thread->pid;
    if (thread->rank >= 0)
        snprintf(rank, sizeof rank, "rank %" PRId64 "  ", thread->rank);
    if (report->shard_count > 1 && thread->rank < 0 && !is_first)
        snprintf(process, sizeof process, "%" PRId64 "/", thread->pid);
    const char *name = *thread->info.name ? thread->info.name : is_first ? "(main)" : "";
    snprintf(out, room, "%s%s%s %s", rank, process, thread->info.key, name);
}

static void put_threads(const struct making *making)
{
    static const struct table table = {.key = "threads",
                                       .heading = "Threads",
                                       .columns = thread_columns,
                                       .count = THREAD_COLUMNS,
                                       .most = MOST_THREADS,
                                       .more = "more"};
    // the report of a training has its ranks instead
    static const struct table data = {
        .key = "threads", .columns = thread_columns, .count = THREAD_COLUMNS};
    const struct run_report *report = making->report;
    char name[256];
    sheet_table(making->sheet, report->torch || !report->thread_count ? &data : &table);
    if (!report->torch && report->thread_count) {
        snprintf(name, sizeof name, "Threads  %s", units_count(report->thread_count).text);
        sheet_heading(making->sheet, name);
    }
    for (size_t i = 0; i < report->thread_count; i++) {
        const struct report_thread *thread = &report->threads[i];
        const bool is_stream = thread->info.kind == GAIT_TRACK_STREAM;
        name_thread(report, thread, name, sizeof name);
        const struct value cells[THREAD_COLUMNS] = {
            value_text(name),
            value_int(thread->pid),
            value_rank(thread->rank),
            value_int(thread->info.tid),
            value_text(thread->info.key),
            value_text(thread->info.name),
            value_text(is_stream ? "stream" : "thread"),
            value_uint(thread->busy_ns),
            value_share(thread->busy_ns, (uint64_t)report->wall_ns),
            value_uint(thread->info.events),
            value_uint(thread->info.dropped),
        };
        sheet_row(making->sheet, cells, 0);
    }
    sheet_end(making->sheet);
}

// --- what was lost, and what it cost ---------------------------------------------------

static void say_drops(const struct making *making)
{
    const struct run_report *report = making->report;
    char text[300];
    snprintf(text, sizeof text, "%s event%s (%s of all); the figures above do not include them",
             units_count(report->dropped).text, units_plural(report->dropped),
             units_share(report->dropped, report->events + report->dropped).text);
    sheet_section(making->sheet, "Lost", text);
    for (size_t i = 0; i < report->drop_count && i < MOST_DROPS; i++) {
        const struct report_drop *drop = &report->drops[i];
        snprintf(text, sizeof text, "%.80s: %s event%s in %s gap%s, thread %.80s",
                 *drop->reason ? drop->reason : "lost", units_count(drop->events).text,
                 units_plural(drop->events), units_count(drop->gaps).text, units_plural(drop->gaps),
                 drop->thread ? drop->thread->info.key : "not known");
        sheet_say(making->sheet, SAY_ITEM, text);
    }
    if (report->drop_count > MOST_DROPS) {
        snprintf(text, sizeof text, "(%zu more)", report->drop_count - MOST_DROPS);
        sheet_say(making->sheet, SAY_ITEM, text);
    }
}

static const struct column drop_columns[] = {
    {.key = "pid"},    {.key = "rank"},   {.key = "tid"},  {.key = "track"},    {.key = "name"},
    {.key = "reason"}, {.key = "events"}, {.key = "gaps"}, {.key = "start_ns"}, {.key = "end_ns"},
};
enum { DROP_COLUMNS = sizeof drop_columns / sizeof drop_columns[0] };

static void put_drop(const struct making *making, const struct report_drop *drop)
{
    static const struct report_thread nobody = {.pid = 0};
    const bool is_known = drop->thread != NULL;
    const struct report_thread *thread = is_known ? drop->thread : &nobody;
    const struct value cells[DROP_COLUMNS] = {
        value_if(is_known, value_int(thread->pid)),
        value_if(is_known, value_rank(thread->rank)),
        value_if(is_known, value_int(thread->info.tid)),
        value_if(is_known, value_text(thread->info.key)),
        value_if(is_known, value_text(thread->info.name)),
        value_text(drop->reason),
        value_uint(drop->events),
        value_uint(drop->gaps),
        value_int(drop->start_ns),
        value_int(drop->end_ns),
    };
    sheet_row(making->sheet, cells, 0);
}

static void put_drops(const struct making *making)
{
    static const struct table table = {
        .key = "drops", .columns = drop_columns, .count = DROP_COLUMNS};
    const struct run_report *report = making->report;
    sheet_put(making->sheet, "dropped", value_uint(report->dropped));
    sheet_table(making->sheet, &table);
    for (size_t i = 0; i < report->drop_count; i++)
        put_drop(making, &report->drops[i]);
    sheet_end(making->sheet);
    if (report->dropped || report->drop_count)
        say_drops(making);
}

static void put_damage(const struct making *making)
{
    const uint32_t count = gait_trace_damage_count(making->trace);
    char text[1200];
    answer_put_damage(making->sheet, making->trace);
    if (!count)
        return;
    snprintf(text, sizeof text, "%" PRIu32 " place%s; the figures above count the intact data",
             count, units_plural(count));
    sheet_section(making->sheet, "Damage", text);
    for (uint32_t i = 0; i < count && i < MOST_DAMAGE; i++) {
        struct gait_damage_info damage;
        if (gait_trace_damage(making->trace, i, &damage))
            return;
        snprintf(text, sizeof text, "%.200s at %" PRIu64 ", %s: %.500s", file_name_of(damage.path),
                 damage.offset, units_bytes(damage.bytes).text, damage.what);
        sheet_say(making->sheet, SAY_ITEM, text);
    }
    if (count > MOST_DAMAGE) {
        snprintf(text, sizeof text, "(%" PRIu32 " more: see gait info)", count - MOST_DAMAGE);
        sheet_say(making->sheet, SAY_ITEM, text);
    }
}

static void put_overhead(const struct making *making)
{
    const struct report_overhead *overhead = &making->report->overhead;
    const uint64_t events = making->report->events;
    const struct torch_report *torch = making->report->torch;
    struct sheet *sheet = making->sheet;
    char text[300], each[48] = "", hooks[120] = "";
    const double bytes = events ? (double)overhead->bytes / (double)events : 0;
    if (events)
        snprintf(each, sizeof each, ", %.*f B/event", bytes < 100, bytes);
    if (torch)
        torch_answer_name_cost(torch, hooks, sizeof hooks);
    snprintf(text, sizeof text, "%s of CPU (%s of the run)%s, %s on disk%s",
             units_ns((int64_t)overhead->cpu_ns).text,
             units_share(overhead->cpu_ns, overhead->process_ns).text, hooks,
             units_bytes(overhead->bytes).text, each);
    if (!making->report->is_imported)
        sheet_section(sheet, "Cost of gait", text);
    sheet_object(sheet, "overhead");
    sheet_put(sheet, "cpu_ns", value_uint(overhead->cpu_ns));
    sheet_put(sheet, "bytes", value_uint(overhead->bytes));
    sheet_put(sheet, "share", value_share(overhead->cpu_ns, overhead->process_ns));
    if (torch)
        torch_answer_put_cost(sheet, torch);
    sheet_end(sheet);
}

// Of a PyTorch run with steps it stands beside these.
static void say_memory(const struct making *making)
{
    const struct run_report *report = making->report;
    char text[80];
    if (!report->memory_peak_bytes || (report->torch && report->steps.count))
        return;
    snprintf(text, sizeof text, "resident peak %s", units_bytes(report->memory_peak_bytes).text);
    sheet_section(making->sheet, "Memory", text);
}

static void put_more(const struct making *making)
{
    char command[5000];
    snprintf(command, sizeof command, "gait report --all %s", path_to_type(making));
    sheet_more(making->sheet, command);
}

// --- all of it -------------------------------------------------------------------------

static int put_all(const struct making *making)
{
    const struct run_report *report = making->report;
    struct sheet *sheet = making->sheet;
    put_title(making);
    const int status = rank_gaps_say(making->sheet, making->trace, true);
    if (status)
        return status;
    rank_gaps_say_steps(making->sheet, report);
    report_ends_say(making->sheet, making->report, making->trace);
    say_gaps(making);
    say_cut(making);
    say_ignored(making);
    put_verdict(making);
    report_ends_list(making->sheet, making->trace);
    put_ignored(making);
    if (report->torch)
        torch_answer_put_steps(making->sheet, report);
    put_steps(making);
    put_curve(making);
    sheet_fold(sheet, screen_put_step(sheet, report));
    put_ledger(making);
    put_where(making);
    sheet_fold(sheet, false);
    screen_put_ranks(sheet, report);
    if (report->torch)
        torch_answer_put_more(sheet, report);
    sheet_fold(sheet, true);
    device_ledger_put(sheet, making->trace, &report->devices);
    ledgers_put(sheet, making->trace, &report->devices.turns);
    ledgers_show(sheet, making->trace, &report->devices.turns);
    sheet_fold(sheet, false);
    sheet_put(making->sheet, "ledger_failure", value_text(report->ledger_failure));
    sheet_put(making->sheet, "wall_ns", value_int(report->wall_ns));
    sheet_put(making->sheet, "events", value_uint(report->events));
    put_threads(making);
    say_memory(making);
    energy_answer_put_section(making->sheet, &report->energy);
    put_drops(making);
    put_damage(making);
    put_overhead(making);
    put_more(making);
    return answer_put_identity(making->sheet, making->trace, true);
}

int report_answer_make(const struct run_report *report, struct gait_trace *trace, const char *path,
                       struct sheet **ret_sheet)
{
    struct making making = {.report = report, .trace = trace, .path = path};
    int status = sheet_new(&making.sheet);
    if (status)
        return status;
    status = run_where_make(&making.where, report, trace);
    if (!status)
        status = put_all(&making);
    run_where_finish(&making.where);
    *ret_sheet = making.sheet;
    return status ? status : sheet_status(making.sheet);
}
