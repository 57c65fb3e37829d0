// SPDX-License-Identifier: Apache-2.0
// `gait top`: where a Python program is at the moment, once a second, until it
// ends or somebody presses q.
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/file_name.h"
#include "base/units.h"
#include "cli/frame/command.h"
#include "cli/io/sample_options.h"
#include "cli/io/top_table.h"
#include "cli/io/top_terminal.h"
#include "launch/say.h"
#include "render/plain.h"
#include "sample/hot_functions.h"
#include "sample/sampler.h"

#define LOOK_NS (100 * UINT64_C(1000000))
#define SCREEN_LOOKS 10

enum { NARROW = 50, TINY = 30 };

struct top_values {
    int64_t rate;
    double seconds;
    bool has_children, has_idle;
};

enum view { VIEW_FUNCTIONS, VIEW_PROCESSES, VIEW_THREADS };

struct screen {
    struct hot_functions hot;
    struct top_table table;
    enum view view;
    struct sampler_totals before;
    struct top_terminal terminal;
    bool by_total, is_asked; // asked: a key wants it drawn at once
    bool is_drawn;           // at least once
    int looks, row;
    FILE *out; // one screen, or one table
    const char *name;
};

static struct sampler *to_end;

static void on_end(int number)
{
    (void)number;
    if (to_end)
        atomic_store_explicit(&to_end->is_stopped, true, memory_order_relaxed);
}

static void take_keys(struct screen *screen, struct sampler *sampler)
{
    char key;
    while (top_terminal_key(&screen->terminal, &key)) {
        if (key == 'q' || key == 3)
            atomic_store(&sampler->is_stopped, true);
        else if (key == 't' || key == 's')
            screen->by_total = key == 't';
        else if (key == 'f')
            screen->view = VIEW_FUNCTIONS;
        else if (key == 'p' || key == 'h')
            screen->view = key == 'p' ? VIEW_PROCESSES : VIEW_THREADS;
        else
            continue;
        screen->is_asked = true;
    }
}

// One line, as much of it as fits, whatever the names in it are made of. Below the
// last line a terminal would scroll.
static void put_line(struct screen *screen, const char *line)
{
    if (screen->terminal.is_terminal && screen->row >= screen->terminal.lines)
        return;
    if (screen->terminal.is_terminal && screen->row)
        fputc('\n', screen->out);
    screen->row++;
    plain_put(screen->out, line, (unsigned)screen->terminal.columns, PLAIN_BARE);
    fputs(screen->terminal.is_terminal ? "\033[K" : "\n", screen->out);
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void put_sums(struct screen *screen, const struct sampler *sampler)
{
    const struct sampler_totals *now = &sampler->totals, *before = &screen->before;
    uint64_t states[SAMPLE_STATES], all = 0;
    char line[512];
    for (int i = 0; i < SAMPLE_STATES; i++) {
        states[i] = now->states[i] - before->states[i];
        all += states[i];
    }
    const uint64_t rounds = now->rounds - before->rounds;
    // each process has a lock while it is there, and some are not there for long
    const uint64_t locks = now->looks - before->looks;
    const uint64_t processes = screen->table.processes;
    snprintf(line, sizeof line,
             "%s%s: %.*f s, %s sample%s, %s process%s, %.1f threads, %s late, %.2f %% cut",
             screen->name, sampler_is_held(sampler) ? " (stopped)" : "", now->seconds < 1,
             now->seconds, units_count(now->samples).text, units_plural(now->samples),
             units_count(processes).text, processes == 1 ? "" : "es",
             rounds ? (double)all / (double)rounds : 0, units_count(now->late).text,
             share(now->cut, now->samples));
    put_line(screen, line);
    snprintf(line, sizeof line,
             "lock held %.0f %%; threads: python %.0f %%, waiting %.0f %%, native %.0f %%, blocked "
             "%.0f %%",
             share(states[SAMPLE_PYTHON], locks), share(states[SAMPLE_PYTHON], all),
             share(states[SAMPLE_WAITING], all), share(states[SAMPLE_NATIVE], all),
             share(states[SAMPLE_BLOCKED], all));
    put_line(screen, line);
    put_line(screen, screen->terminal.has_keys
                         ? "keys: f functions, p processes, h threads; s, t sort; q ends"
                         : "");
}

static void put_title(struct screen *screen)
{
    char line[128];
    const char *self = screen->by_total ? "self" : "SELF";
    const char *total = screen->by_total ? "TOTAL" : "total";
    if (screen->terminal.columns < TINY)
        snprintf(line, sizeof line, "%6s  function", screen->by_total ? total : self);
    else if (screen->terminal.columns < NARROW)
        snprintf(line, sizeof line, "%6s%7s  function", self, total);
    else
        snprintf(line, sizeof line, "%7s%8s%10s%10s  function", self, total, "all:self",
                 "all:total");
    put_line(screen, line);
}

static void put_row(struct screen *screen, const struct hot_function *row,
                    const struct frame_site *site)
{
    char line[2048];
    const double self = share(row->self, screen->hot.samples);
    const double total = share(row->total, screen->hot.samples);
    int used;
    if (screen->terminal.columns < TINY)
        used = snprintf(line, sizeof line, "%5.1f%%", screen->by_total ? total : self);
    else if (screen->terminal.columns < NARROW)
        used = snprintf(line, sizeof line, "%5.1f%%%6.1f%%", self, total);
    else
        used = snprintf(line, sizeof line, "%6.1f%%%7.1f%%%9.1f%%%9.1f%%", self, total,
                        share(row->all_self, screen->hot.all_samples),
                        share(row->all_total, screen->hot.all_samples));
    snprintf(line + used, sizeof line - (size_t)used, "  %.500s (%.255s:%" PRId32 ")", site->name,
             file_name_of(site->file), site->line);
    put_line(screen, line);
}

// Who it is stands last: of shares, the fewer are shown the narrower the terminal is.
static void put_table_title(struct screen *screen, bool by_process)
{
    const char *who = by_process ? "process" : "thread";
    char line[128];
    if (screen->terminal.columns < TINY)
        snprintf(line, sizeof line, "%6s  %s", "lock", who);
    else if (screen->terminal.columns < NARROW)
        snprintf(line, sizeof line, "%6s%8s%8s  %s", "lock", "waiting", "native", who);
    else
        snprintf(line, sizeof line, "%7s%9s%8s%9s%9s  %s", "lock", "waiting", "native", "blocked",
                 by_process ? "threads" : "pid", who);
    put_line(screen, line);
}

static void put_table_row(struct screen *screen, const struct top_row *row, uint64_t rounds)
{
    const bool by_process = screen->table.by_process;
    const int64_t first = by_process ? (int64_t)row->threads : row->pid;
    const double held = share(row->states[SAMPLE_PYTHON], rounds);
    const double waiting = share(row->states[SAMPLE_WAITING], rounds);
    const double native = share(row->states[SAMPLE_NATIVE], rounds);
    const double blocked = share(row->states[SAMPLE_BLOCKED], rounds);
    char line[512];
    int used;
    if (screen->terminal.columns < TINY)
        used = snprintf(line, sizeof line, "%5.1f%%", held);
    else if (screen->terminal.columns < NARROW)
        used = snprintf(line, sizeof line, "%5.1f%%%7.1f%%%7.1f%%", held, waiting, native);
    else
        used = snprintf(line, sizeof line, "%6.1f%%%8.1f%%%7.1f%%%8.1f%%%9" PRId64, held, waiting,
                        native, blocked, first);
    snprintf(line + used, sizeof line - (size_t)used, "  %" PRId64 " %s",
             by_process ? row->pid : row->tid, row->name);
    put_line(screen, line);
}

// Shares of the time: those of a process with several threads may sum to more than all.
static void put_table(struct screen *screen, uint64_t rounds)
{
    const struct top_table *table = &screen->table;
    if (screen->terminal.lines >= 3)
        put_table_title(screen, table->by_process);
    for (size_t i = 0; i < table->count && screen->row < screen->terminal.lines; i++)
        put_table_row(screen, &table->rows[i], rounds);
}

static void put_functions(struct screen *screen, const struct stack_trie *trie)
{
    if (screen->terminal.lines >= 3)
        put_title(screen);
    for (size_t i = 0; i < screen->hot.count && screen->row < screen->terminal.lines; i++) {
        const struct hot_function *row = &screen->hot.sorted[i];
        put_row(screen, row, &trie->sites[row->site]);
    }
}

// On a screen of few lines the functions come first.
static void put_screen(struct screen *screen, const struct sampler *sampler)
{
    screen->row = 0;
    if (screen->terminal.is_terminal)
        fputs("\033[H", screen->out);
    if (screen->terminal.lines >= 8)
        put_sums(screen, sampler);
    if (screen->view == VIEW_FUNCTIONS)
        put_functions(screen, &sampler->trie);
    else
        put_table(screen, sampler->totals.rounds - screen->before.rounds);
    fputs(screen->terminal.is_terminal ? "\033[J" : "\n", screen->out);
}

static void draw(struct screen *screen, const struct sampler *sampler)
{
    char *text = NULL;
    size_t bytes = 0;
    screen->out = open_memstream(&text, &bytes);
    if (!screen->out)
        return;
    put_screen(screen, sampler);
    if (fclose(screen->out) == 0)
        top_terminal_emit(&screen->terminal, text, bytes);
    free(text);
}

static void show(struct screen *screen, struct sampler *sampler)
{
    screen->table.by_process = screen->view == VIEW_PROCESSES;
    if (hot_functions_look(&screen->hot, &sampler->trie, screen->by_total) ||
        top_table_fill(&screen->table, sampler)) {
        fail_clear();
        return;
    }
    draw(screen, sampler);
    screen->before = sampler->totals;
    screen->is_drawn = true;
}

static void refresh(void *context, struct sampler *sampler)
{
    struct screen *screen = context;
    take_keys(screen, sampler);
    screen->is_asked |= top_terminal_measure(&screen->terminal) && screen->is_drawn;
    // over before the first second was
    const bool is_last_chance =
        sampler->is_ending && !screen->is_drawn && !screen->terminal.is_terminal;
    if (++screen->looks < SCREEN_LOOKS && !screen->is_asked && !is_last_chance)
        return;
    screen->looks = 0;
    screen->is_asked = false;
    show(screen, sampler);
    if (screen->terminal.error)
        atomic_store(&sampler->is_stopped, true); // nobody is there to look at it
}

// With the screen all that was on it went: who did not end it looks at nothing.
static void tell_end(const struct screen *screen, const struct sampler *sampler)
{
    const double seconds = sampler->options.seconds;
    const bool is_asked = atomic_load(&sampler->is_stopped) || screen->terminal.error ||
                          (seconds > 0 && sampler->totals.seconds >= seconds);
    if (screen->terminal.is_terminal && !is_asked)
        say("process %s has ended: %.0f s, %s sample%s", screen->name, sampler->totals.seconds,
            units_count(sampler->totals.samples).text, units_plural(sampler->totals.samples));
}

static int watch(const struct top_values *values, int64_t pid, const char *name)
{
    const struct sampler_options options = {
        .rate_hz = (double)(values->rate ? values->rate : SAMPLE_RATE_USUAL),
        .seconds = values->seconds,
        .has_children = values->has_children,
        .has_idle = values->has_idle,
    };
    struct screen screen = {.name = name};
    struct sampler sampler;
    const struct sigaction end = {.sa_handler = on_end}, ignore = {.sa_handler = SIG_IGN};
    int status = sampler_init(&sampler, &options);
    if (status == 0)
        status = sampler_follow(&sampler, pid);
    if (status == 0) {
        to_end = &sampler;
        sigaction(SIGINT, &end, NULL);
        sigaction(SIGTERM, &end, NULL);
        sigaction(SIGHUP, &end, NULL);
        sigaction(SIGPIPE, &ignore, NULL);
        sampler.refresh = refresh;
        sampler.refresh_every_ns = LOOK_NS;
        sampler.context = &screen;
        top_terminal_start(&screen.terminal);
        status = sampler_run(&sampler);
        top_terminal_stop(&screen.terminal);
        if (status == 0)
            tell_end(&screen, &sampler);
        to_end = NULL;
    }
    hot_functions_finish(&screen.hot);
    top_table_finish(&screen.table);
    sampler_finish(&sampler);
    return status || !screen.terminal.error
               ? status
               : fail(GAIT_ERR_IO, "cannot write the answer: %s", strerror(screen.terminal.error));
}

static int run(const void *given, const struct operands *operands)
{
    int64_t pid;
    int status = command_process(operands, &pid);
    if (status == 0)
        status = watch(given, pid, operands->texts[0]);
    return status ? command_refuse(&cmd_top) : command_finish_output(&cmd_top);
}

#define AT(field) offsetof(struct top_values, field)
static const struct option options[] = {
    SAMPLE_RATE_OPTION(struct top_values),
    SAMPLE_DURATION_OPTION(struct top_values, "end after this time: 10, 0.5, 2m"),
    {FLAG_ROW('s', "subprocesses", AT(has_children), "also watch the processes it started")},
    {FLAG_ROW('i', "idle", AT(has_idle), "also record threads that are blocked in the system")},
};

const struct command cmd_top = {
    .purpose = "watch the hottest functions of a Python program",
    .summary = "Shows once a second which functions process PID runs.",
    .about = {"Once a second it shows how much of the time the interpreter's lock was held, what "
              "the threads did, and the functions in the samples: self (innermost) and total "
              "(anywhere on the stack), for this second and since the start.",
              "Press p for processes or h for threads, the busiest first, with the recent share of "
              "time in which each held the lock, waited for it, ran native code or was blocked. "
              "Press f for functions, s or t to sort them by self or total, q to quit. gait top "
              "also ends with the process. If the output is not a terminal, it prints a table of "
              "functions each second."},
    .examples = {{"gait top 4711", "Watch the hottest functions of process 4711."}},
    .exit_status = "0: success. 2: wrong usage, or a process that cannot be read.",
    .line = {.command = "top",
             OPTIONS_ARE(options),
             .min_operands = 1,
             .max_operands = 1,
             .operands = "PID"},
    .is_rare = true,
    .run = run,
};
