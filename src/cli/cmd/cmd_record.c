// SPDX-License-Identifier: Apache-2.0
// `gait record`: samples of a Python program, which runs on as if nobody looked.
#define _GNU_SOURCE
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/about/shell_word.h"
#include "base/fail.h"
#include "base/units.h"
#include "cli/frame/command.h"
#include "cli/io/output_name.h"
#include "cli/io/record_output.h"
#include "cli/io/sample_options.h"
#include "launch/launch.h"
#include "launch/say.h"
#include "sample/sampler.h"

#define NATIVE_RATE_LIMIT 10000

struct record_values {
    const char *output, *format;
    const char *native_threads;
    int64_t rate, native_rate, pid;
    double seconds;
    bool has_children, has_threads, has_idle, is_gil_only, has_full_names, has_no_lines, is_quiet;
    bool has_native;
};

struct recording {
    const struct record_values *values;
    struct sampler sampler;
    struct record_output output;
    pthread_t thread;
    bool has_thread;
    int status;
    char why[512];                     // the sampler failed; "" if not
    uint32_t refreshed, refresh_pause; // seconds
};

static struct sampler *to_stop; // by a signal

static void on_signal(int number)
{
    (void)number;
    if (to_stop)
        atomic_store_explicit(&to_stop->is_stopped, true, memory_order_relaxed);
}

// Written anew after 1, 2, 4 ... seconds, 30 at most: a long recording is not
// spent writing.
static void refresh(void *context, struct sampler *sampler)
{
    struct recording *recording = context;
    if (record_output_has_shard(&recording->output))
        return;
    if (++recording->refreshed < recording->refresh_pause)
        return;
    recording->refreshed = 0;
    recording->refresh_pause = recording->refresh_pause < 30 ? recording->refresh_pause * 2 : 30;
    if (record_output_refresh(&recording->output, sampler, false)) {
        say("%s; gait will try again", fail_text());
        fail_clear();
    }
}

static void *sample(void *context)
{
    struct recording *recording = context;
    recording->status = sampler_run(&recording->sampler);
    if (recording->status)
        snprintf(recording->why, sizeof recording->why, "%s", fail_text());
    int status = record_output_refresh(&recording->output, &recording->sampler, true);
    if (status) {
        recording->status = status;
        snprintf(recording->why, sizeof recording->why, "%s", fail_text());
    }
    return NULL;
}

static struct native_options native_options(const struct record_values *values)
{
    struct native_options native = {0, values->native_threads};
    if (values->has_native || values->native_threads || values->native_rate)
        native.rate_hz = (double)(values->native_rate ? values->native_rate : NATIVE_RATE);
    return native;
}

static int open_recording(struct recording *recording, const struct record_values *values,
                          bool is_waiting)
{
    const struct sampler_options options = {
        .rate_hz = (double)(values->rate ? values->rate : SAMPLE_RATE_USUAL),
        .seconds = values->seconds,
        .has_idle = values->has_idle,
        .is_gil_only = values->is_gil_only,
        .has_threads = values->has_threads,
        .has_children = values->has_children,
        .has_orphans = values->has_children && is_waiting,
        .native = native_options(values),
        .is_waiting = is_waiting,
    };
    memset(recording, 0, sizeof *recording);
    recording->values = values;
    recording->output.fd = -1;
    recording->refresh_pause = 1;
    int status = sampler_init(&recording->sampler, &options);
    if (status == 0 && options.native.rate_hz > 0 && !recording->sampler.native)
        say("%s; gait records Python stacks only", fail_text());
    if (status == 0)
        status = record_output_open(&recording->output, values->output, values->format,
                                    &recording->sampler.trie);
    if (status)
        return status;
    recording->output.text.has_full_names =
        values->has_full_names || recording->output.format == RECORD_PPROF;
    recording->output.text.has_no_lines = values->has_no_lines;
    recording->sampler.context = recording;
    recording->sampler.refresh = refresh;
    if (record_output_has_shard(&recording->output))
        recording->sampler.shard = &recording->output.shard;
    return 0;
}

static void close_recording(struct recording *recording)
{
    sampler_finish(&recording->sampler);
    record_output_finish(&recording->output);
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static struct units_text rate_text(double rate)
{
    struct units_text text;
    if (rate >= 10)
        return units_count((uint64_t)(rate + 0.5));
    snprintf(text.text, sizeof text.text, "%.1f", rate);
    return text;
}

static void tell_end(const struct recording *recording)
{
    const struct sampler_totals *totals = &recording->sampler.totals;
    char quoted[2 * PATH_MAX], told[2 * PATH_MAX + 256], next[2 * PATH_MAX + 64];
    if (recording->status) {
        say("%s", recording->why);
        return;
    }
    if (recording->values->is_quiet)
        return;
    const char *path = shell_word(recording->output.path, quoted, sizeof quoted);
    const double rate = totals->seconds > 0 ? (double)totals->rounds / totals->seconds : 0;
    snprintf(told, sizeof told,
             "%s sample%s in %s round%s, %.1f s (%s rounds/s of %s asked); %s late, %.2f %% cut, "
             "%.2f %% torn, %s error%s; %s",
             units_count(totals->samples).text, units_plural(totals->samples),
             units_count(totals->rounds).text, units_plural(totals->rounds), totals->seconds,
             rate_text(rate).text, rate_text(recording->sampler.options.rate_hz).text,
             units_count(totals->late).text, percent(totals->cut, totals->samples),
             percent(totals->torn, totals->samples), units_count(totals->errors).text,
             units_plural(totals->errors), path);
    snprintf(next, sizeof next, "gait leaf %s", path);
    const bool is_file = recording->output.fd < 0;
    if (is_file && totals->samples && recording->output.format <= RECORD_RAW)
        say_next(told, "next", next);
    else
        say("%s", told);
}

static void tell_blocked(const struct recording *recording)
{
    const struct sampler_totals *totals = &recording->sampler.totals;
    if (!recording->status && !recording->values->is_quiet && !totals->samples &&
        totals->states[SAMPLE_BLOCKED])
        say("its threads were blocked or stopped all the time; --idle records such threads too");
}

// A Python among others; where there was nothing else the end has told it.
static void tell_unknown(const struct recording *recording)
{
    const struct followed_list *followed = &recording->sampler.followed;
    if (followed->has_unknown && !recording->status && !recording->values->is_quiet)
        say("some threads or processes were not sampled: %s", followed->refusal);
}

// What was stopped for how long, since that is what native frames cost.
static void tell_native(const struct recording *recording)
{
    const struct native_sampler *native = recording->sampler.native;
    if (!native || recording->status || recording->values->is_quiet)
        return;
    const struct native_totals *totals = &native->totals;
    if (totals->refused)
        say("%" PRIu64 " threads have Python frames only (no native frames): %s", totals->refused,
            totals->why);
    say("native frames: %s looks, %s stops of at most %s us (median), %s us (99 %%), %s us "
        "(longest); %.1f %% not matched, %.1f %% too deep, %.1f %% not running, %.1f %% not "
        "read",
        units_count(totals->looks).text, units_count(totals->stops).text,
        units_count(native_sampler_window(native, 0.5)).text,
        units_count(native_sampler_window(native, 0.99)).text,
        units_count((totals->longest_ns + 999) / 1000).text,
        percent(totals->unmatched, totals->looks), percent(totals->cut_short, totals->looks),
        percent(totals->away, totals->looks), percent(totals->broken, totals->looks));
}

static void catch_signals(struct recording *recording)
{
    // whoever reads from us is gone: what was seen is kept
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    const struct sigaction end = {.sa_handler = on_signal};
    to_stop = &recording->sampler;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        sigaction(ends[i], &end, NULL);
}

static void ignore_full_disk(void)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGXFSZ, &ignore, NULL);
}

static int record_process(const struct record_values *values)
{
    struct recording *recording = calloc(1, sizeof *recording);
    ignore_full_disk();
    int status = recording ? open_recording(recording, values, false)
                           : fail(GAIT_ERR_MEMORY, "no memory to record");
    if (status == 0) {
        catch_signals(recording);
        recording->output.text.pid = values->pid;
        status = sampler_follow(&recording->sampler, values->pid);
        if (status)
            record_output_drop(&recording->output);
    }
    if (status) {
        command_refuse(&cmd_record);
    } else {
        sample(recording);
        tell_native(recording);
        tell_end(recording);
        tell_blocked(recording);
        tell_unknown(recording);
        status = recording->status;
        if (!recording->sampler.totals.rounds)
            record_output_drop(&recording->output);
    }
    if (recording)
        close_recording(recording);
    free(recording);
    return status ? EXIT_USAGE : EXIT_OK;
}

static void started(void *context, pid_t pid)
{
    struct recording *recording = context;
    recording->output.text.pid = pid;
    const bool is_followed = sampler_follow(&recording->sampler, pid) == 0;
    recording->has_thread =
        is_followed && pthread_create(&recording->thread, NULL, sample, recording) == 0;
    if (!recording->has_thread && !recording->values->is_quiet)
        say("nothing is recorded: %s",
            is_followed ? "cannot start the sampling thread" : fail_text());
    if (!is_followed)
        fail_clear();
}

// The program's own fate is what counts: it runs and ends as if we were not there.
static int record_program(const struct record_values *values, char *const *arguments)
{
    struct recording *recording = calloc(1, sizeof *recording);
    struct launch launch;
    struct sigaction before;
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGXFSZ, &ignore, &before);
    int status = recording ? open_recording(recording, values, true)
                           : fail(GAIT_ERR_MEMORY, "no memory to record");
    sigaction(SIGXFSZ, &before, NULL); // the program must find it as it was
    int code = EXIT_RUN_FAILED;
    if (status) {
        command_refuse(&cmd_record);
        if (recording)
            close_recording(recording);
        free(recording);
        return EXIT_USAGE;
    }
    const struct launch_watcher watcher = {started, recording, values->has_children};
    status = launch_watched(arguments, &watcher, &launch);
    if (recording->has_thread) {
        atomic_store(&recording->sampler.is_stopped, true);
        pthread_join(recording->thread, NULL);
        tell_native(recording);
        tell_end(recording);
        tell_blocked(recording);
        tell_unknown(recording);
        if (!recording->sampler.totals.rounds)
            record_output_drop(&recording->output);
    } else {
        record_output_drop(&recording->output);
    }
    if (status)
        command_refuse(&cmd_record);
    else if (launch.exec_error)
        code = launch_refused(arguments[0], launch.exec_error);
    else
        code = launch_exit_code(&launch);
    close_recording(recording);
    free(recording);
    return code;
}

static int run(const void *given, const struct operands *operands)
{
    const struct record_values *values = given;
    operands->texts[operands->count] = NULL;
    if (values->pid && operands->count)
        fail(GAIT_ERR_ARGUMENT, "takes --pid or a program, not both");
    else if (!values->pid && !operands->count)
        fail(GAIT_ERR_ARGUMENT, "needs --pid PID or a program: gait record -- python train.py");
    else if (values->format || !values->output ||
             !output_name_spare_promise(values->output, record_formats))
        return values->pid ? record_process(values) : record_program(values, operands->texts);
    return command_refuse(&cmd_record);
}

#define AT(field) offsetof(struct record_values, field)
static const struct option options[] = {
    {NUMBER_ROW('p', "pid", "PID", 1, INT32_MAX, AT(pid),
                "sample this process instead of starting a program")},
    {TEXT_ROW('o', "output", "FILE", AT(output), "output file; - is standard output")},
    {CHOICE_ROW('f', "format", "FORMAT", record_formats, AT(format),
                "gait, raw, flamegraph, speedscope, chrome, or pprof")},
    SAMPLE_RATE_OPTION(struct record_values),
    SAMPLE_DURATION_OPTION(struct record_values,
                           "time to record (10, 0.5, 2m); the program runs on"),
    {FLAG_ROW('s', "subprocesses", AT(has_children), "also follow the processes it starts")},
    {FLAG_ROW('t', "threads", AT(has_threads), "add the thread's name as the outermost frame")},
    {FLAG_ROW('i', "idle", AT(has_idle), "also record threads that are blocked in the system")},
    {FLAG_ROW('g', "gil", AT(is_gil_only), "only the thread that holds the interpreter's lock")},
    {FLAG_ROW('n', "native", AT(has_native), "also native frames; pauses a thread for some us")},
    {TEXT_ROW(0, "native-only", "RE", AT(native_threads),
              "the same for matching threads only: MainThread")},
    {NUMBER_ROW(0, "native-rate", "HZ", 1, NATIVE_RATE_LIMIT, AT(native_rate),
                "native stacks a second (default: 100)")},
    {FLAG_ROW(0, "full-filenames", AT(has_full_names), "raw: absolute file names")},
    {FLAG_ROW(0, "nolineno", AT(has_no_lines), "raw: no line numbers")},
    {FLAG_ROW('q', "quiet", AT(is_quiet), "print nothing at the end")},
};

const struct command cmd_record = {
    .purpose = "sample the stacks of a Python program",
    .summary = "Samples the stacks of all threads of a Python program, from another process.",
    .about = {"gait reads the memory of the program, with one system call a round. Without "
              "--native it never stops the program, and it changes nothing in it. The program must "
              "be CPython 3.8 to 3.15 on x86-64. Other processes that it starts are not "
              "disturbed.",
              "gait samples at random times (a Poisson clock), so the shares are right even if the "
              "program is periodic. It counts a round that it missed, and does not repeat it.",
              "If the rate is too high, gait samples as fast as it can. The output is a shard "
              "(gait), counted stacks with one line each (raw, as py-spy writes it), a graph "
              "(flamegraph), a file for speedscope or pprof, or slices over time for "
              "ui.perfetto.dev and chrome://tracing (chrome; until the end the samples are in a "
              "shard beside FILE). Without --format the ending of FILE chooses the format. gait "
              "creates missing folders. Without --output it writes gait-samples-<time>-<pid> with "
              "the right ending into the current folder.",
              "Samples reach the disk from the first second on. If frames changed while gait read "
              "them, gait keeps the stack only if it has seen the same stack unchanged before. "
              "Otherwise it cuts off these frames and counts the sample as cut.",
              "--native adds the native frames of each thread between the Python frames; libdw "
              "(elfutils) finds them. About a hundred times a second gait pauses a running thread "
              "for about 20 us to copy its stack, and reports the pauses at the end. Each native "
              "stack stands for its thread until the next one. If native and Python frames do not "
              "match, gait keeps the Python frames and counts the sample.",
              "To sample a running program you need the same right as for gait dump. A program "
              "that gait record starts needs no right."},
    .examples = {{"gait record -o run.gait -- python train.py",
                  "Sample a training from its start."},
                 {"gait record --native -f flamegraph -o run.svg -- python train.py",
                  "Draw native functions too: those that Python called and those that called "
                  "Python."},
                 {"gait record -d 10 -f raw -o stacks.txt --pid 4711",
                  "Sample ten seconds of a running process."}},
    .exit_status = "The status of the program that it started: 128 + N if signal N ended it, 126 "
                   "if it cannot be executed, 127 if it does not exist. With --pid: 0. 2: wrong "
                   "usage, or nothing to sample.",
    .line = {.command = "record",
             OPTIONS_ARE(options),
             .max_operands = UINT32_MAX,
             .operands = "[--] [CMD [ARG...]]",
             .stops_at_operand = true},
    .run = run,
};
