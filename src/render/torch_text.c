// SPDX-License-Identifier: Apache-2.0
// One section a function. What is not known or says nothing gets none.
#include "render/torch_text.h"

#include <inttypes.h>
#include <string.h>

#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"
#include "render/plain.h"
#include "render/screen.h"
#include "render/sentence_text.h"
#include "render/torch_work.h"
#include "render/units.h"

enum {
    MOST_FINDINGS = 5,
    MOST_OPS = 8,
    MOST_RANKS = 8,
    MOST_EPOCHS = 6,
    EPOCH_PHASES = 3, // told of each epoch and rank
    OP_COLUMNS = 32,
    LEDGER_COLUMNS = 30,                    // as the ledger of the steps has them
    LARGEST_BYTES = PLAIN_COLUMNS - 34 + 1, // what is left of a line
};

// Figures with too many digits would feign what nobody measured.
static void print_rate(char *out, size_t room, uint64_t count, uint64_t ns, const char *unit)
{
    double rate = ns ? (double)count * 1e9 / (double)ns : 0;
    if (rate >= 100)
        snprintf(out, room, "%s %s/s", units_count((uint64_t)(rate + 0.5)).text, unit);
    else
        snprintf(out, room, "%#.3g %s/s", rate, unit);
}

static void put_throughput(const struct screen *screen)
{
    const struct run_report *report = screen->report;
    const struct torch_report *torch = report->torch;
    const uint64_t total_ns = (uint64_t)torch->training.total_ns;
    char text[240] = "", rate[64];
    if (!report->steps.count || !total_ns)
        return;
    if (torch->samples) {
        print_rate(rate, sizeof rate, torch->samples, total_ns, "samples");
        snprintf(text, sizeof text, "%s, ", rate);
    }
    if (torch->tokens) {
        print_rate(rate, sizeof rate, torch->tokens, total_ns, "tokens");
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s, ", rate);
    }
    print_rate(rate, sizeof rate, report->steps.count, total_ns, "steps");
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s", rate);
    if (torch->memory.rss_bytes)
        snprintf(text + strlen(text), sizeof text - strlen(text), "; memory peak %s",
                 units_bytes(torch->memory.rss_bytes).text);
    if (torch->memory.window_bytes && !torch_work_has_memory(torch))
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s ops hold up to %s at a time",
                 torch->memory.rss_bytes ? "," : ";", units_bytes(torch->memory.window_bytes).text);
    fputs("  ", screen->out);
    plain_wrap(screen->out, text, 2, 2);
}

static void put_apart(const struct screen *screen)
{
    const struct torch_report *torch = screen->report->torch;
    const int64_t inside_ns = screen->report->steps.total_ns - torch->training.total_ns;
    char text[300] = "without these: ";
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
    fputs("  ", screen->out);
    plain_wrap(screen->out, text, 4, 2);
}

// What is counted and averaged is one set: the steady steps, where there are any, each
// less the evaluation and the checkpoints inside of it.
static const struct steps_summary *steps_told(const struct torch_report *torch)
{
    return torch->steady.count ? &torch->steady : &torch->training;
}

static void put_percentiles(const struct screen *screen)
{
    const struct torch_report *torch = screen->report->torch;
    const struct steps_summary *steps = steps_told(torch);
    char where[120] = "";
    if (!steps->count)
        return;
    if (torch->steady.count && steps->max_ns > 2 * steps->p50_ns)
        snprintf(where, sizeof where, ", most in %.40s", torch->phases.names[torch->slowest_phase]);
    fprintf(screen->out, "  p50 %s   p95 %s   max %s (step %" PRIu64 "%s)\n",
            units_ns(steps->p50_ns).text, units_ns(steps->p95_ns).text,
            units_ns(steps->max_ns).text, steps->slowest, where);
}

void torch_text_put_steps(const struct screen *screen)
{
    const struct run_report *report = screen->report;
    const struct steps_summary *all = &report->steps, *steps = steps_told(report->torch);
    char ranks[64] = "", steady[64] = "", text[300];
    if (!all->count)
        return;
    if (report->rank_count > 1)
        snprintf(ranks, sizeof ranks, " on %" PRIu32 " ranks", report->rank_count);
    if (report->torch->steady.count)
        snprintf(steady, sizeof steady, "the %s steady one%s took ", units_count(steps->count).text,
                 units_plural(steps->count));
    const struct run_parts *run = &report->torch->ranks[0].run; // as the run's ledger has it
    snprintf(text, sizeof text, "%s%s, %s of %s; %s%s on average%s", units_count(all->count).text,
             ranks, units_share(run->parts[RUN_STEPS], run->total_ns).text,
             *ranks ? "rank 0's run" : "the run", steady,
             units_ns(steps->total_ns / (int64_t)steps->count).text,
             *ranks ? " (slowest rank)" : "");
    screen_section(screen, "Steps", text);
    put_percentiles(screen);
    put_apart(screen);
    put_throughput(screen);
    torch_work_put_flops(screen);
}

static void put_run_line(const struct screen *screen, const char *name, uint64_t ns,
                         uint64_t whole_ns)
{
    fprintf(screen->out, "  %-*s%10s%20s\n", LEDGER_COLUMNS, name, units_ns((int64_t)ns).text,
            units_share(ns, whole_ns).text);
}

// Rank 0's process, from its start to its end.
static void put_run(const struct screen *screen)
{
    const struct torch_report *torch = screen->report->torch;
    const struct run_parts *run = torch->rank_count ? &torch->ranks[0].run : NULL;
    if (!run || !run->total_ns)
        return;
    const char *heading =
        screen->report->rank_count > 1 ? "Where rank 0's run goes" : "Where the run goes";
    fputc('\n', screen->out);
    screen_bold(screen, heading);
    fprintf(screen->out, "%*s%10s%20s\n", LEDGER_COLUMNS + 2 - (int)strlen(heading), "", "total",
            "share");
    const uint64_t unrecorded_ns = process_life_unrecorded_ns(&torch->ranks[0].life);
    for (unsigned i = 0; i < RUN_PART_COUNT; i++) {
        if (!run->parts[i])
            continue;
        put_run_line(screen, run_part_names[i], run->parts[i], run->total_ns);
        if (i == RUN_START_UP && unrecorded_ns)
            put_run_line(screen, "  of it before the recording", unrecorded_ns, run->total_ns);
    }
    put_run_line(screen, "= the run", run->total_ns, run->total_ns);
}

// Without steps the verdict has said so already.
static size_t first_finding(const struct run_report *report)
{
    const struct findings *findings = &report->torch->findings;
    return !report->steps.count && findings->count &&
           findings->rows[0].number == FINDING_NO_OPTIMIZER;
}

static void put_findings(const struct screen *screen)
{
    const struct findings *findings = &screen->report->torch->findings;
    const size_t first = first_finding(screen->report);
    char text[SENTENCE_BYTES];
    if (findings->count == first)
        return;
    fputc('\n', screen->out);
    screen_bold(screen, "Findings");
    fputc('\n', screen->out);
    for (size_t i = first; i < findings->count && i < MOST_FINDINGS; i++) {
        fputs("  - ", screen->out);
        sentence_finding(&findings->rows[i], text, sizeof text);
        plain_wrap(screen->out, text, 4, 4);
    }
    if (findings->count > MOST_FINDINGS)
        fprintf(screen->out, "  (%zu more: --json)\n", findings->count - MOST_FINDINGS);
}

// The largest phases of a ledger: "forward 61 %, backward 20 %".
static void name_largest(const struct torch_report *torch, const uint64_t *sums, uint64_t whole,
                         char *out, size_t room)
{
    bool is_told[TORCH_MOST_PHASES] = {false};
    *out = '\0';
    for (unsigned told = 0; told < EPOCH_PHASES; told++) {
        unsigned most = TORCH_MOST_PHASES;
        for (unsigned i = 0; i < torch->phases.count; i++)
            if (!is_told[i] && sums[i] && (most == TORCH_MOST_PHASES || sums[i] > sums[most]))
                most = i;
        if (most == TORCH_MOST_PHASES)
            return;
        char piece[80];
        is_told[most] = true;
        snprintf(piece, sizeof piece, "%s%.16s %.0f %%", told ? ", " : "",
                 torch->phases.names[most], (double)sums[most] * 100 / (double)whole);
        size_t used = strlen(out), more = strlen(piece);
        if (used + more >= room)
            return;
        memcpy(out + used, piece, more + 1);
    }
}

// A rank or an epoch.
struct part {
    char name[32];
    uint64_t steps, total_ns;
    const uint64_t *phases;
};

static void put_part(const struct screen *screen, const struct part *part)
{
    char largest[LARGEST_BYTES];
    name_largest(screen->report->torch, part->phases, part->total_ns, largest, sizeof largest);
    fprintf(screen->out, "  %-10s%9s%11s  ", part->name, units_count_short(part->steps).text,
            units_ns((int64_t)part->total_ns).text);
    plain_put_all(screen->out, largest);
    fputc('\n', screen->out);
}

static void put_ranks(const struct screen *screen)
{
    const struct torch_report *torch = screen->report->torch;
    if (torch->rank_count < 2)
        return;
    fputc('\n', screen->out);
    const char *heading = screen->report->rank_count > 1 ? "Ranks" : "Processes";
    screen_bold(screen, heading);
    fprintf(screen->out, "%*s%11s  %s\n", 19 - (int)strlen(heading), "steps", "total",
            "most of it");
    for (size_t i = 0; i < torch->rank_count && i < MOST_RANKS; i++) {
        const struct torch_rank *rank = &torch->ranks[i];
        struct part part = {"", rank->steps, rank->total_ns, rank->phases};
        snprintf(part.name, sizeof part.name, rank->rank < 0 ? "pid %" PRId64 : "%" PRId64,
                 rank->rank < 0 ? rank->pid : rank->rank);
        put_part(screen, &part);
    }
    if (torch->rank_count > MOST_RANKS)
        fprintf(screen->out, "  (%zu more: --json)\n", torch->rank_count - MOST_RANKS);
}

// The first epoch, then the newest.
static void put_epochs(const struct screen *screen)
{
    const struct torch_report *torch = screen->report->torch;
    size_t count = torch->epoch_count;
    if (torch->epochs_why) {
        char text[300];
        snprintf(text, sizeof text, "Epochs are not told: %s", torch->epochs_why);
        fputc('\n', screen->out);
        plain_wrap(screen->out, text, 2, 0);
    }
    if (count < 2)
        return;
    fputc('\n', screen->out);
    screen_bold(screen, "Epochs");
    fprintf(screen->out, "%13s%11s  %s\n", "steps", "total", "most of it");
    for (size_t i = 0; i < count; i++) {
        const struct torch_epoch *epoch = &torch->epochs[i];
        struct part part = {"", epoch->steps, epoch->total_ns, epoch->phases};
        if (i && count > MOST_EPOCHS && i < count - MOST_EPOCHS + 2) {
            if (i == 1)
                fprintf(screen->out, "  (%zu more: --json)\n", count - MOST_EPOCHS + 1);
            continue;
        }
        snprintf(part.name, sizeof part.name, "%zu", i);
        put_part(screen, &part);
    }
}

static void put_ops(const struct screen *screen)
{
    const struct torch_report *torch = screen->report->torch;
    const struct top_ops *ops = &torch->ops;
    char heading[80];
    if (!ops->count)
        return;
    const uint64_t steps = torch->ranks[0].recorded, steps_ns = torch->ranks[0].recorded_ns;
    fputc('\n', screen->out);
    snprintf(heading, sizeof heading, "Ops of %s step%s", units_count(steps).text,
             units_plural(steps));
    screen_bold(screen, heading);
    fprintf(screen->out, "%*s%8s%10s%10s%8s%8s\n", OP_COLUMNS + 2 - (int)strlen(heading), "",
            "calls", "self", "a step", "of ops", "of step");
    for (size_t i = 0; i < ops->count && i < MOST_OPS; i++) {
        const struct top_op *op = &ops->rows[i];
        fputs("  ", screen->out);
        plain_put(screen->out, op->name, OP_COLUMNS, PLAIN_LEFT);
        fprintf(screen->out, "%8s%10s%10s%8s%8s\n", units_count_short(op->calls).text,
                units_ns((int64_t)op->self_ns).text,
                steps ? units_ns((int64_t)(op->self_ns / steps)).text : "-",
                units_share(op->self_ns, ops->self_ns).text,
                units_share(op->self_ns, steps_ns).text);
    }
}

void torch_text_put_more(const struct screen *screen)
{
    put_run(screen);
    put_findings(screen);
    put_ranks(screen);
    put_epochs(screen);
    put_ops(screen);
    torch_work_put_memory(screen);
}

void torch_text_name_cost(const struct torch_report *torch, char *out, size_t room)
{
    char share[48] = "";
    *out = '\0';
    if (torch->cost.is_unmeasured)
        snprintf(out, room, ", hooks not known");
    if (!torch->cost.is_known)
        return;
    if (torch->cost.steps_ns)
        snprintf(share, sizeof share, " (%s of the steps)",
                 units_share(torch->cost.hooks_ns, torch->cost.steps_ns).text);
    snprintf(out, room, ", hooks %s%s", units_ns((int64_t)torch->cost.hooks_ns).text, share);
}
