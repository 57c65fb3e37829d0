// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "answer/report/screen_answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"
#include "analyse/verdict/torch_judged.h"
#include "answer/device/ledgers.h"
#include "answer/sentence_text.h"
#include "answer/sheet.h"
#include "base/units.h"

enum {
    MOST_LINES = 12,   // of a ledger
    MOST_RANKS = 8,    // of a screen; of a job of 1,000 those with the longest steps
    MOST_PARTS = 16,   // of a bar
    OP_NAME = 40,      // bytes of one,
    OPS_LINE = 70,     // and of those that are named
    NAMED_PERMILLE = 1 // of the run; less is not said
};

// The parts of what devices did, in the order in which they are drawn.
static const struct device_part {
    const char *name;
    enum work_kind work;
    bool is_idle;
} device_parts[] = {
    {"computing", WORK_COMPUTING, false},
    {"communication", WORK_PEERS, false},
    {"waits for peers", WORK_WAITING, false},
    {"copies alone", WORK_COPYING, false},
    {"no batch yet", WORK_INPUT, true},
    {"ops, launches", WORK_HOST, true},
    {"blocking", WORK_SYNC, true},
    {"not known", WORK_UNKNOWN, true},
};
enum { DEVICE_PARTS = sizeof device_parts / sizeof device_parts[0] };

static uint64_t part_ns(const struct verdict *verdict, enum work_kind work)
{
    for (size_t i = 0; i < verdict->part_count; i++)
        if (verdict->parts[i].work == work)
            return verdict->parts[i].ns;
    return 0;
}

// The rank whose devices are judged; NULL: none are.
static const struct judged_rank *judged_of(const struct run_report *report)
{
    const struct verdict *verdict = &report->verdict;
    for (size_t i = 0; verdict->is_of_devices && i < report->judged_count; i++)
        if (report->judged[i].judged.shard == verdict->shard)
            return &report->judged[i];
    return NULL;
}

// The turns that a ledger of the thread beside the devices is about: the same steps, all of them.
static const struct turn_rank *turns_of(const struct run_report *report,
                                        const struct judged_rank *rank)
{
    const struct turns *turns = &report->devices.turns;
    for (size_t i = 0; !rank->judged.is_window && i < turns->count; i++)
        if (turns->ranks[i].shard == rank->judged.shard &&
            turns->ranks[i].told == turns->ranks[i].steps &&
            turns->ranks[i].total_ns == rank->judged.total_ns)
            return &turns->ranks[i];
    return NULL;
}

// --- the step ----------------------------------------------------------------------------

struct line {
    const char *name;
    uint64_t ns;
    unsigned depth;
};
struct lines {
    struct line lines[MOST_LINES];
    size_t count;
    uint64_t total_ns, rounds;
};

// What has no line of its own is in the one before the last.
static void add_line(struct lines *lines, const char *name, uint64_t ns, unsigned depth)
{
    if (ns && lines->count + 1 < MOST_LINES)
        lines->lines[lines->count++] = (struct line){name, ns, depth};
    else if (ns)
        lines->lines[lines->count - 1] =
            (struct line){"smaller ones", lines->lines[lines->count - 1].ns + ns, depth};
}

static void find_device_lines(const struct verdict *verdict, struct lines *lines)
{
    uint64_t idle_ns = 0;
    for (size_t i = 0; i < DEVICE_PARTS; i++)
        if (device_parts[i].is_idle)
            idle_ns += part_ns(verdict, device_parts[i].work);
        else
            add_line(lines, device_parts[i].name, part_ns(verdict, device_parts[i].work), 0);
    add_line(lines, "idle", idle_ns, 0);
    for (size_t i = 0; i < DEVICE_PARTS; i++)
        if (device_parts[i].is_idle)
            add_line(lines, device_parts[i].name, part_ns(verdict, device_parts[i].work), 1);
}

static const char *host_name(const char *id)
{
    return !strcmp(id, "no_phase") ? "no phase" : !strcmp(id, "between") ? "between steps" : id;
}

static void find_host_lines(const struct run_report *report, const struct judged_rank *rank,
                            struct lines *lines)
{
    const struct turn_rank *turns = turns_of(report, rank);
    struct host_parts parts;
    uint64_t ns;
    if (!turns || !host_parts_begin(&parts, &report->devices.turns, turns))
        return;
    for (const char *id; (id = host_parts_next(&parts, &ns));)
        add_line(lines, host_name(id), ns, 0);
}

static void put_line(const struct lines *lines, const struct line *line, struct value *cells,
                     char *name, size_t room)
{
    snprintf(name, room, "%*s%s", (int)line->depth * 2, "", line->name);
    cells[0] = value_text(name);
    cells[1] = value_uint(line->ns / lines->rounds);
    cells[2] = value_share(line->ns, lines->total_ns);
    cells[3] = value_share(line->ns, lines->total_ns); // of a scale for both
}

static void put_lines(struct sheet *sheet, const struct lines *device, const struct lines *host)
{
    const size_t count = device->count > host->count ? device->count : host->count;
    for (size_t i = 0; i < count; i++) {
        char names[2][40];
        struct value cells[8];
        for (size_t k = 0; k < 8; k++)
            cells[k] = k % 4 == 3 ? value_none() : value_text(k ? "" : " ");
        if (i < device->count)
            put_line(device, &device->lines[i], cells, names[0], sizeof names[0]);
        if (i < host->count)
            put_line(host, &host->lines[i], cells + 4, names[1], sizeof names[1]);
        sheet_row(sheet, cells, 0);
    }
}

static void put_sums(struct sheet *sheet, const struct lines *device, const struct lines *host,
                     bool is_window)
{
    const struct value all = value_share(1, 1);
    const struct value cells[] = {value_text(is_window ? "= on record" : "= the step"),
                                  value_uint(device->total_ns / device->rounds),
                                  all,
                                  value_none(),
                                  value_text(is_window ? "= all steps" : "= the step"),
                                  value_uint(host->total_ns / host->rounds),
                                  all,
                                  value_none()};
    sheet_row(sheet, cells, ROW_TOTAL);
}

// Where devices are on record for a while, their thread is told of all steps.
static void find_phases(const struct run_report *report, struct lines *lines)
{
    const struct torch_report *torch = report->torch;
    if (!torch || !report->steps.count)
        return;
    lines->total_ns = report->ledger.total_ns;
    lines->rounds = report->steps.count;
    for (unsigned i = 0; i < torch->phases.count; i++)
        add_line(lines, torch->phases.names[i], torch->totals[i], 0);
}

// "A step of rank 1 (mean of 6)"
static void name_step(const struct run_report *report, const struct judged_rank *rank, char *out,
                      size_t room)
{
    char whose[40] = "", mean[60] = "";
    if (report->judged_count > 1)
        snprintf(whose, sizeof whose, " of rank %" PRId64, rank->rank);
    if (rank->rounds > 1)
        snprintf(mean, sizeof mean, " (mean of %s)", units_count(rank->rounds).text);
    if (rank->judged.is_window)
        snprintf(out, room, "While on record%s", whose);
    else
        snprintf(out, room, "A step%s%s", whose, mean);
}

#define LEDGER_COLUMNS(first, whose)                                                               \
    {.label = "", .width = (first), .flags = COLUMN_LEFT},                                         \
        {.label = (whose), .unit = UNIT_NS, .width = 8},                                           \
        {.label = "share", .unit = UNIT_SHARE, .width = 8},                                        \
    {                                                                                              \
        .label = "", .width = 5, .flags = COLUMN_BAR                                               \
    }

bool screen_put_step(struct sheet *sheet, const struct run_report *report)
{
    static const struct column columns[] = {LEDGER_COLUMNS(15, "devices"),
                                            LEDGER_COLUMNS(13, "thread")};
    static const struct column windows[] = {LEDGER_COLUMNS(15, "devices"),
                                            LEDGER_COLUMNS(13, "a step")};
    static const struct table both = {.heading = "", COLUMNS_ARE(columns)};
    static const struct table window = {.heading = "", COLUMNS_ARE(windows)};
    static const struct table devices = {.heading = "", .columns = columns, .count = 4};
    const struct judged_rank *rank = judged_of(report);
    if (!rank)
        return false;
    struct lines device = {.total_ns = rank->judged.total_ns, .rounds = rank->rounds};
    struct lines host = device;
    char heading[120];
    find_device_lines(&report->verdict, &device);
    if (rank->judged.is_window)
        find_phases(report, &host);
    else
        find_host_lines(report, rank, &host);
    name_step(report, rank, heading, sizeof heading);
    sheet_table(sheet, !host.count ? &devices : rank->judged.is_window ? &window : &both);
    sheet_heading(sheet, heading);
    put_lines(sheet, &device, &host);
    put_sums(sheet, &device, &host, rank->judged.is_window);
    sheet_end(sheet);
    return host.count;
}

// --- the ranks ---------------------------------------------------------------------------

static uint64_t each(const struct judged_rank *rank, uint64_t ns)
{
    return ns / rank->rounds;
}

static void put_rank(struct sheet *sheet, const struct judged_rank *rank)
{
    const uint64_t *by_work = rank->judged.by_work;
    const uint64_t idle_ns = by_work[WORK_INPUT] + by_work[WORK_HOST] + by_work[WORK_SYNC];
    char name[32];
    snprintf(name, sizeof name, "%" PRId64, rank->rank);
    SHEET_ROW(sheet, value_text(name), value_int(rank->rank), value_uint(rank->step_ns),
              value_uint(rank->own_ns), value_uint(each(rank, by_work[WORK_WAITING])),
              value_uint(each(rank, by_work[WORK_COMPUTING])),
              value_uint(each(rank, by_work[WORK_PEERS])),
              value_uint(each(rank, by_work[WORK_COPYING])), value_uint(each(rank, idle_ns)));
}

void screen_put_ranks(struct sheet *sheet, const struct run_report *report)
{
    static const struct column columns[] = {
        {.label = "", .width = 5, .flags = COLUMN_LEFT},
        {.key = "rank"},
        {.key = "step_ns", .label = "step", .unit = UNIT_NS, .width = 9},
        {.key = "own_ns", .label = "own work", .unit = UNIT_NS, .width = 9},
        {.key = "waiting_ns", .label = "waits", .unit = UNIT_NS, .width = 9},
        {.key = "computing_ns", .label = "computing", .unit = UNIT_NS, .width = 10},
        {.key = "communication_ns", .label = "comm", .unit = UNIT_NS, .width = 8},
        {.key = "copies_ns"},
        {.key = "idle_ns", .label = "idle", .unit = UNIT_NS, .width = 8},
    };
    static const struct table table = {.key = "verdict_ranks",
                                       .heading = "Ranks",
                                       COLUMNS_ARE(columns),
                                       .most = MOST_RANKS,
                                       .more = "shorter",
                                       .falling_by = "step_ns"};
    static const struct table data = {.key = "verdict_ranks", COLUMNS_ARE(columns)};
    sheet_table(sheet, report->judged_count > 1 ? &table : &data);
    for (size_t i = 0; i < report->judged_count; i++)
        put_rank(sheet, &report->judged[i]);
    sheet_end(sheet);
}

// --- bars of a page ----------------------------------------------------------------------

struct bar {
    struct sheet_bar_part parts[MOST_PARTS];
    size_t count;
    char name[32];
};

static void add_part(struct bar *bar, const char *name, const char *kind, uint64_t ns,
                     uint64_t whole_ns)
{
    if (ns && whole_ns && bar->count < MOST_PARTS)
        bar->parts[bar->count++] =
            (struct sheet_bar_part){name, kind, (double)ns / (double)whole_ns};
}

static void fill_device_bar(struct bar *bar, const struct judged_rank *rank, uint64_t scale_ns)
{
    for (size_t i = 0; i < DEVICE_PARTS; i++)
        add_part(bar, device_parts[i].name, sentence_work_id(device_parts[i].work),
                 each(rank, rank->judged.by_work[device_parts[i].work]), scale_ns);
}

// Phases of gait's have colours of their own.
static const char *kind_of_phase(const struct torch_report *torch, const char *name)
{
    for (unsigned i = 0; torch && i < TORCH_OTHER; i++)
        if (!strcmp(torch->phases.names[i], name))
            return name;
    const bool is_rest =
        !strcmp(name, host_name("no_phase")) || !strcmp(name, host_name("between"));
    return sentence_work_id(is_rest ? WORK_UNKNOWN : torch_judged_work(TORCH_MOST_PHASES, name));
}

static void fill_host_bar(struct bar *bar, const struct run_report *report,
                          const struct judged_rank *rank)
{
    struct lines host = {.total_ns = rank->judged.total_ns, .rounds = rank->rounds};
    find_host_lines(report, rank, &host);
    snprintf(bar->name, sizeof bar->name, "thread");
    for (size_t i = 0; i < host.count; i++)
        add_part(bar, host.lines[i].name, kind_of_phase(report->torch, host.lines[i].name),
                 host.lines[i].ns, host.total_ns);
}

static void fill_loop_bar(struct bar *bar, const struct verdict *verdict)
{
    snprintf(bar->name, sizeof bar->name, "%s", sentence_base_id(verdict->base));
    for (size_t i = 0; i < verdict->part_count; i++)
        add_part(bar, sentence_work_id(verdict->parts[i].work),
                 sentence_work_id(verdict->parts[i].work), verdict->parts[i].ns,
                 verdict->parts[i].of_ns);
}

// Ranks by the length of their steps, up to so many.
static size_t longest_ranks(const struct run_report *report, const struct judged_rank **ranks)
{
    size_t count = 0;
    for (size_t i = 0; i < report->judged_count; i++) {
        const struct judged_rank *rank = &report->judged[i];
        size_t at = count < MOST_RANKS ? count++ : MOST_RANKS - 1;
        if (at == MOST_RANKS - 1 && ranks[at] && ranks[at]->step_ns >= rank->step_ns)
            continue;
        for (; at && ranks[at - 1]->step_ns < rank->step_ns; at--)
            ranks[at] = ranks[at - 1];
        ranks[at] = rank;
    }
    return count;
}

void screen_put_bars(struct sheet *sheet, const struct run_report *report)
{
    const struct judged_rank *ranks[MOST_RANKS] = {NULL}, *rank = judged_of(report);
    struct bar bars[MOST_RANKS + 1] = {0};
    struct sheet_bar shown[MOST_RANKS + 1];
    const struct verdict *verdict = &report->verdict;
    size_t count = 0;
    uint64_t scale_ns = verdict->part_count ? verdict->parts[0].of_ns : 0;
    if (rank) {
        const size_t rank_count = longest_ranks(report, ranks);
        scale_ns = ranks[0]->step_ns;
        for (size_t i = 0; i < rank_count; i++, count++) {
            snprintf(bars[i].name, sizeof bars[i].name,
                     rank_count > 1 ? "rank %" PRId64 : "devices", ranks[i]->rank);
            fill_device_bar(&bars[i], ranks[i], scale_ns);
        }
        if (rank_count == 1)
            fill_host_bar(&bars[count++], report, rank);
    } else if (scale_ns) {
        fill_loop_bar(&bars[count++], verdict);
    }
    for (size_t i = 0; i < count; i++)
        shown[i] = (struct sheet_bar){bars[i].name, bars[i].parts, bars[i].count};
    if (count)
        sheet_bars(sheet, shown, count, units_ns((int64_t)scale_ns).text);
}

// --- lines -------------------------------------------------------------------------------

// "10.7 s: start-up 8.35 s (3.90 s of it before the recording), steps 1.57 s, after 675 ms"
void screen_say_run(struct sheet *sheet, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    const struct torch_rank *rank = torch && torch->rank_count ? &torch->ranks[0] : NULL;
    char *text = NULL;
    size_t bytes;
    if (!rank || !rank->run.total_ns || report->is_imported)
        return;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return;
    const struct run_parts *run = &rank->run;
    const uint64_t unrecorded_ns = process_life_unrecorded_ns(&rank->life);
    const char *comma = ":";
    fputs(units_ns((int64_t)run->total_ns).text, out);
    for (unsigned i = 0; i < RUN_PART_COUNT; i++) {
        if (run->parts[i] / NAMED_PERMILLE < run->total_ns / 1000)
            continue;
        fprintf(out, "%s %s %s", comma, run_part_names[i], units_ns((int64_t)run->parts[i]).text);
        if (i == RUN_START_UP && unrecorded_ns)
            fprintf(out, " (%s of it before the recording)", units_ns((int64_t)unrecorded_ns).text);
        comma = ",";
    }
    if (!fclose(out))
        sheet_section(sheet, "Run", text);
    free(text);
}

// "of 3 steps: 43.8 % aten::mm, 23.9 % aten::addmm", as many as a line has room for.
void screen_say_ops(struct sheet *sheet, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    char text[200];
    if (!torch || !torch->ops.count || !torch->ops.self_ns)
        return;
    const uint64_t steps = torch->ranks[0].recorded;
    size_t used = (size_t)snprintf(text, sizeof text, "of %s step%s:", units_count(steps).text,
                                   units_plural(steps));
    for (size_t i = 0; i < torch->ops.count; i++) {
        const struct top_op *op = &torch->ops.rows[i];
        char piece[100];
        const size_t more =
            (size_t)snprintf(piece, sizeof piece, "%s %s %.*s", i ? "," : "",
                             units_share(op->self_ns, torch->ops.self_ns).text, OP_NAME, op->name);
        if (i && used + more > OPS_LINE)
            break;
        memcpy(text + used, piece, more + 1);
        used += more;
    }
    sheet_section(sheet, "Ops", text);
}
