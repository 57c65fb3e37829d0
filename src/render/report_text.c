// SPDX-License-Identifier: Apache-2.0
// One section a function, in the order of the screen. What is zero or absent
// gets no section of its own.
#include "render/report_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/report/run_report.h"
#include "base/file_name.h"
#include "render/plain.h"
#include "render/screen.h"
#include "render/sentence_text.h"
#include "render/torch_text.h"
#include "render/units.h"

enum {
    NAME_COLUMNS = 30,
    BAR_COLUMNS = 14,
    MOST_PHASES = 12,
    MOST_THREADS = 8,
    MOST_DROPS = 4,
    MOST_DAMAGE = 3,
    MOST_ENDS = 3,
};

static void put_summary(const struct screen *screen)
{
    const struct run_report *report = screen->report;
    char text[400];
    plain_put_all(screen->out, screen->how->path);
    snprintf(text, sizeof text, "%" PRIu32 " process%s, %s, %s event%s in %s",
             report->process_count, report->process_count == 1 ? "" : "es",
             units_ns(report->wall_ns).text, units_count(report->events).text,
             units_plural(report->events), units_bytes(report->overhead.bytes).text);
    fprintf(screen->out, "\n%s\n", text);
}

// What `gait run` noted of a process that did not end well, in words; false if
// there is nothing to tell.
static bool describe_end(const char *noted, char *out, size_t room)
{
    static const char signal_key[] = "{\"signal\": ", code_key[] = "{\"code\": ";
    if (!noted || !strcmp(noted, "{\"code\": 0}"))
        return false;
    if (!strncmp(noted, signal_key, sizeof signal_key - 1))
        snprintf(out, room, "was killed by signal %ld",
                 strtol(noted + sizeof signal_key - 1, NULL, 10));
    else if (!strncmp(noted, code_key, sizeof code_key - 1))
        snprintf(out, room, "ended with exit code %ld",
                 strtol(noted + sizeof code_key - 1, NULL, 10));
    else if (!strcmp(noted, "{\"unclosed\": true}"))
        snprintf(out, room, "did not end by itself: it was killed, or left by os._exit()");
    else
        snprintf(out, room, "ended with %.80s", noted);
    return true;
}

static void put_ends(const struct screen *screen)
{
    unsigned told = 0;
    for (uint32_t i = 0; i < screen->report->shard_count && told < MOST_ENDS; i++) {
        struct gait_shard_info shard;
        char text[300], rank[32] = "", how[120];
        if (!describe_end(gait_trace_metadata(screen->trace, i, "exit"), how, sizeof how) ||
            gait_trace_shard(screen->trace, i, &shard))
            continue;
        if (shard.rank >= 0)
            snprintf(rank, sizeof rank, "rank %" PRId64 ", ", shard.rank);
        snprintf(text, sizeof text, "%sprocess %" PRId64 " on %.60s %s", rank, shard.pid,
                 shard.host, how);
        plain_wrap(screen->out, text, 2, 0);
        told++;
    }
}

static void put_ignored(const struct screen *screen)
{
    for (size_t i = 0; i < screen->report->ignored_count; i++) {
        const struct report_ignored *ignored = &screen->report->ignored[i];
        char text[600];
        snprintf(text, sizeof text, "setting not heeded in process %" PRId64 ": %.500s",
                 ignored->pid, ignored->words);
        plain_wrap(screen->out, text, 2, 0);
    }
}

static bool is_plain_word(const char *text)
{
    const size_t plain = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789_./-");
    return *text && *text != '-' && !text[plain];
}

// Stacks were taken: they know what the phase did, or waited in, and where there are no
// steps they are all that is known.
static void put_question(const struct screen *screen)
{
    const char *phase = screen->report->verdict.phase;
    const char *path = is_plain_word(screen->how->path) ? screen->how->path : "RUN";
    if (!screen->report->has_samples)
        return;
    if (phase && is_plain_word(phase))
        fprintf(screen->out, "  see: gait leaf --phase %s %s\n", phase, path);
    else if (!screen->report->steps.count)
        fprintf(screen->out, "  see: gait leaf %s\n", path);
}

static void put_verdict(const struct screen *screen)
{
    const struct verdict *verdict = &screen->report->verdict;
    const char *label = sentence_label(verdict);
    char text[SENTENCE_BYTES];
    fputc('\n', screen->out);
    screen_bold(screen, label);
    fputs(": ", screen->out);
    sentence_why(verdict, text, sizeof text);
    plain_wrap(screen->out, text, 2, (unsigned)strlen(label) + 2);
    sentence_advice(verdict, text, sizeof text);
    fputs("  try: ", screen->out);
    plain_wrap(screen->out, text, 7, 7);
    put_question(screen);
}

static void put_steps(const struct screen *screen)
{
    const struct run_report *report = screen->report;
    const struct steps_summary *steps = &report->steps;
    char ranks[64] = "", average[128] = "", open[64] = "", text[400];
    if (!steps->count && !report->open_steps)
        return;
    if (report->rank_count > 1)
        snprintf(ranks, sizeof ranks, " on %" PRIu32 " ranks", report->rank_count);
    if (steps->count)
        snprintf(average, sizeof average, ", %s on average%s, %s of the run",
                 units_ns(steps->total_ns / (int64_t)steps->count).text,
                 *ranks ? " (slowest rank)" : "",
                 units_share((uint64_t)steps->total_ns, (uint64_t)report->wall_ns).text);
    if (report->open_steps)
        snprintf(open, sizeof open, "; %s not finished", units_count(report->open_steps).text);
    snprintf(text, sizeof text, "%s%s%s%s", units_count(steps->count).text, ranks, average, open);
    screen_section(screen, "Steps", text);
    if (steps->count)
        fprintf(screen->out, "  p50 %s   p95 %s   p99 %s   max %s (step %" PRIu64 ")\n",
                units_ns(steps->p50_ns).text, units_ns(steps->p95_ns).text,
                units_ns(steps->p99_ns).text, units_ns(steps->max_ns).text, steps->slowest);
}

// A line of the ledger: its parts are counted per step, or per span.
struct line {
    const char *name;
    uint64_t total_ns, parts;
};

static void put_bar(FILE *out, uint64_t part, uint64_t largest)
{
    unsigned length = largest ? (unsigned)((double)part / (double)largest * BAR_COLUMNS + 0.5) : 0;
    if (!length)
        return;
    fputs("  ", out);
    while (length--)
        fputc('#', out);
}

static void put_line(const struct screen *screen, const struct line *line, uint64_t largest)
{
    uint64_t whole = screen->report->ledger.total_ns;
    fputs("  ", screen->out);
    plain_put(screen->out, *line->name ? line->name : "(no name)", NAME_COLUMNS, PLAIN_LEFT);
    struct units_text each = {""};
    if (line->parts)
        each = units_ns((int64_t)(line->total_ns / line->parts));
    fprintf(screen->out, "%10s%11s%9s", units_ns((int64_t)line->total_ns).text, each.text,
            units_share(line->total_ns, whole).text);
    put_bar(screen->out, line->total_ns, largest);
    fputc('\n', screen->out);
}

static void put_ledger_heading(const struct screen *screen)
{
    const struct run_report *report = screen->report;
    char heading[80];
    if (report->steps.count)
        snprintf(heading, sizeof heading, "Where a step goes");
    else
        snprintf(heading, sizeof heading, "Where the run goes (thread %" PRId64 ")",
                 report->main_thread->info.tid);
    fputc('\n', screen->out);
    screen_bold(screen, heading);
    fprintf(screen->out, "%*s%10s%11s%9s\n", NAME_COLUMNS + 2 - (int)strlen(heading), "", "total",
            report->steps.count ? "a step"
            : report->torch     ? ""
                                : "a span",
            "share");
}

// The phases that get no line of their own, as one.
static struct phase sum_smaller(const struct report_ledger *ledger)
{
    struct phase sum = {.name = ""};
    for (size_t i = MOST_PHASES; i < ledger->count; i++) {
        sum.total_ns += ledger->phases[i].total_ns;
        sum.parts += ledger->phases[i].parts;
    }
    return sum;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void put_ledger(const struct screen *screen)
{
    const struct run_report *report = screen->report;
    const struct report_ledger *ledger = &report->ledger;
    const struct phase smaller = sum_smaller(ledger);
    uint64_t steps = report->steps.count;
    if (!steps && !report->main_thread)
        return;
    put_ledger_heading(screen);
    uint64_t largest = larger(ledger->other_ns, smaller.total_ns);
    if (ledger->count)
        largest = larger(largest, ledger->phases[0].total_ns);
    for (size_t i = 0; i < ledger->count && i < MOST_PHASES; i++) {
        const struct phase *phase = &ledger->phases[i];
        const struct line line = {phase->name, phase->total_ns, steps ? steps : phase->parts};
        put_line(screen, &line, largest);
    }
    if (ledger->count > MOST_PHASES) {
        char name[40];
        snprintf(name, sizeof name, "(%zu smaller)", ledger->count - MOST_PHASES);
        const struct line line = {name, smaller.total_ns, steps ? steps : smaller.parts};
        put_line(screen, &line, largest);
    }
    put_line(screen, &(struct line){"other", ledger->other_ns, steps}, largest);
    put_line(screen, &(struct line){steps ? "= all steps" : "= the run", ledger->total_ns, steps},
             0);
    if (report->ledger_failure)
        fprintf(screen->out, "  no phases: %s\n", report->ledger_failure);
}

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

static void put_threads(const struct screen *screen)
{
    const struct run_report *report = screen->report;
    char heading[48], name[256];
    uint64_t more_events = 0, more_dropped = 0;
    if (!report->thread_count)
        return;
    fputc('\n', screen->out);
    snprintf(heading, sizeof heading, "Threads  %s", units_count(report->thread_count).text);
    screen_bold(screen, heading);
    fprintf(screen->out, "%*s%10s%9s%13s%12s\n", NAME_COLUMNS + 2 - (int)strlen(heading), "",
            "in spans", "of run", "events", "lost");
    for (size_t i = 0; i < report->thread_count; i++) {
        const struct report_thread *thread = &report->threads[i];
        if (i >= MOST_THREADS) {
            more_events += thread->info.events;
            more_dropped += thread->info.dropped;
            continue;
        }
        name_thread(report, thread, name, sizeof name);
        fputs("  ", screen->out);
        plain_put(screen->out, name, NAME_COLUMNS, PLAIN_LEFT);
        fprintf(screen->out, "%10s%9s%13s%12s\n", units_ns((int64_t)thread->busy_ns).text,
                units_share(thread->busy_ns, (uint64_t)report->wall_ns).text,
                units_count_short(thread->info.events).text,
                units_count_short(thread->info.dropped).text);
    }
    if (report->thread_count > MOST_THREADS) {
        snprintf(name, sizeof name, "(%zu more)", report->thread_count - MOST_THREADS);
        fprintf(screen->out, "  %-*s%10s%9s%13s%12s\n", NAME_COLUMNS, name, "", "",
                units_count_short(more_events).text, units_count_short(more_dropped).text);
    }
}

static void put_drops(const struct screen *screen)
{
    const struct run_report *report = screen->report;
    char text[300];
    if (!report->dropped && !report->drop_count)
        return;
    snprintf(text, sizeof text, "%s event%s (%s of all); the figures above are without them",
             units_count(report->dropped).text, units_plural(report->dropped),
             units_share(report->dropped, report->events + report->dropped).text);
    screen_section(screen, "Lost", text);
    for (size_t i = 0; i < report->drop_count && i < MOST_DROPS; i++) {
        const struct report_drop *drop = &report->drops[i];
        snprintf(text, sizeof text, "%.80s: %s event%s in %s gap%s, thread %.80s",
                 *drop->reason ? drop->reason : "lost", units_count(drop->events).text,
                 units_plural(drop->events), units_count(drop->gaps).text, units_plural(drop->gaps),
                 drop->thread ? drop->thread->info.key : "not known");
        fputs("  ", screen->out);
        plain_wrap(screen->out, text, 4, 2);
    }
    if (report->drop_count > MOST_DROPS)
        fprintf(screen->out, "  (%zu more)\n", report->drop_count - MOST_DROPS);
}

static void put_damage(const struct screen *screen)
{
    uint32_t count = gait_trace_damage_count(screen->trace);
    if (!count)
        return;
    fputc('\n', screen->out);
    screen_bold(screen, "Damage");
    fprintf(screen->out, "  %" PRIu32 " place%s; what is intact is counted above\n", count,
            units_plural(count));
    for (uint32_t i = 0; i < count && i < MOST_DAMAGE; i++) {
        struct gait_damage_info damage;
        if (gait_trace_damage(screen->trace, i, &damage))
            return;
        char text[1200];
        snprintf(text, sizeof text, "%.200s at %" PRIu64 ", %s: %.500s", file_name_of(damage.path),
                 damage.offset, units_bytes(damage.bytes).text, damage.what);
        fputs("  ", screen->out);
        plain_wrap(screen->out, text, 4, 2);
    }
    if (count > MOST_DAMAGE)
        fprintf(screen->out, "  (%" PRIu32 " more: see gait info)\n", count - MOST_DAMAGE);
}

static void put_overhead(const struct screen *screen)
{
    const struct report_overhead *overhead = &screen->report->overhead;
    uint64_t events = screen->report->events;
    char text[300], each[48] = "", hooks[80] = "";
    double bytes = events ? (double)overhead->bytes / (double)events : 0;
    if (events)
        snprintf(each, sizeof each, ", %.*f B/event", bytes < 100, bytes);
    if (screen->report->torch)
        torch_text_name_cost(screen->report->torch, hooks, sizeof hooks);
    snprintf(text, sizeof text, "%s of CPU (%s of the run)%s, %s on disk%s",
             units_ns((int64_t)overhead->cpu_ns).text,
             units_share(overhead->cpu_ns, overhead->process_ns).text, hooks,
             units_bytes(overhead->bytes).text, each);
    screen_section(screen, "Cost of gait", text);
}

void report_text_put(FILE *out, const struct report_text *how, const struct run_report *report,
                     const struct gait_trace *trace)
{
    const struct screen screen = {out, how, report, trace};
    put_summary(&screen);
    put_ends(&screen);
    put_ignored(&screen);
    put_verdict(&screen);
    if (report->torch) {
        torch_text_put_steps(&screen);
        put_ledger(&screen);
        torch_text_put_more(&screen);
    } else {
        put_steps(&screen);
        put_ledger(&screen);
        put_threads(&screen);
    }
    put_drops(&screen);
    put_damage(&screen);
    put_overhead(&screen);
}
