// SPDX-License-Identifier: Apache-2.0
// `gait run`: a run directory, the program, and one line at the end. Nothing
// that goes wrong here may keep the program from running, except a directory
// that the user must choose.
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gait/internal/schedule.h>

#include "base/about/shell_word.h"
#include "base/fail.h"
#include "base/process.h"
#include "base/units.h"
#include "cli/frame/command.h"
#include "cli/run/run_profile.h"
#include "cli/run/run_screen.h"
#include "format/ring_file.h"
#include "format/ring_setting.h"
#include "launch/job.h"
#include "launch/launch.h"
#include "launch/python_hook.h"
#include "launch/run_commit.h"
#include "launch/run_directory.h"
#include "launch/run_finish.h"
#include "launch/run_mark.h"
#include "launch/run_own.h"
#include "launch/run_sample.h"
#include "launch/run_stuck.h"
#include "launch/say.h"
#include "launch/shared_memory.h"
#include "load/file/run_outcome.h"
#include "meter/metering.h"
#include "shard/shard_out.h"

struct run_values {
    const char *output, *overflow, *windows, *config, *profiler;
    int64_t ring_bytes, sample_hz, energy_hz;
    double stuck_after_s;
    bool is_append, is_quiet, has_kernels, is_profiled, has_native, has_no_metadata;
    struct option_texts tags;
};

// What a run comes to know, from the line to the end.
struct session {
    struct run_values values;
    char *const *arguments;
    struct run_profile profile;
    struct run_directory directory;
    bool is_recording;
    bool has_no_package; // of Python: a C program needs none
    struct run_sample sample;
    struct run_stuck stuck;
    struct metering meter;
};

// One of the ranks of a job speaks, and none inside another `gait run`.
static bool is_speaking(const struct session *session)
{
    return job_rank() <= 0 && !session->directory.is_nested;
}

// At the end it is known who of several that share a directory had rank 0.
static bool is_first(const struct session *session)
{
    const struct run_directory *directory = &session->directory;
    bool may_be_second = session->values.is_append || directory->is_joined || directory->is_shared;
    return is_speaking(session) &&
           (!may_be_second || run_own_speaks(directory->absolute, directory->invocation));
}

static bool is_switched_off(void)
{
    const char *enable = getenv("GAIT_ENABLE");
    return enable && !strcmp(enable, "0");
}

// A directory, or a sentence why there is none. Only a directory that holds
// another run is worth stopping for.
static int prepare(struct session *session)
{
    const struct run_request request = {.output = session->values.output,
                                        .is_append = session->values.is_append,
                                        .arguments = session->arguments};
    if (is_switched_off()) {
        if (!session->values.is_quiet)
            say("GAIT_ENABLE=0: nothing is recorded");
        return EXIT_OK;
    }
    int status = run_directory_open(&request, &session->directory);
    session->is_recording = !status;
    if (status == GAIT_ERR_STATE) {
        command_refuse(&cmd_run);
        return EXIT_RUN_FAILED;
    }
    if (status)
        say("nothing is recorded: %s; name %s directory with -o", fail_text(),
            session->values.output ? "another" : "a");
    else if (session->directory.rival && is_speaking(session))
        say("'%s' belongs to a run that is still going on (process %" PRId64
            "), so this run is recorded into '%s'; --append joins both into one run",
            session->values.output, session->directory.rival, session->directory.path);
    return EXIT_OK;
}

// A file that may not grow (RLIMIT_FSIZE) is a sentence then, not our death.
static int prepare_past_limits(struct session *session)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction before;
    sigaction(SIGXFSZ, &ignore, &before);
    int code = prepare(session);
    sigaction(SIGXFSZ, &before, NULL);
    return code;
}

// What the program's recording says of it, beside what it finds itself. What another `gait run`
// around this one said of its program is not true of this one's.
static int set_identity(const struct session *session)
{
    const struct run_profile *profile = &session->profile;
    const char *tags = run_profile_said(profile, SETTING_TAGS);
    const bool is_told = config_flag(&profile->config, SETTING_METADATA);
    char commit[RUN_COMMIT_BYTES] = "";
    int failed = tags ? setenv("GAIT_TAGS", tags, 1) : 0;
    failed |= is_told ? unsetenv("GAIT_METADATA") : setenv("GAIT_METADATA", "0", 1);
    if (is_told)
        run_commit_find(session->arguments, commit);
    return failed | (*commit ? setenv("GAIT_COMMIT", commit, 1) : unsetenv("GAIT_COMMIT"));
}

// What the program inherits. A value that does not fit into the environment is
// a recording that does not happen, not a training that does not start.
static void set_environment(struct session *session)
{
    const struct run_values *values = &session->values;
    char ring[32], began[32];
    int failed = 0;
    if (session->is_recording) {
        failed |= setenv("GAIT_DIR", session->directory.absolute, 1);
        failed |= setenv("GAIT_RUN_ID", session->directory.run_id, 1);
        if (*session->directory.invocation)
            failed |= setenv("GAIT_INVOCATION", session->directory.invocation, 1);
        snprintf(began, sizeof began, "%" PRId64, process_clock_ns());
        failed |= setenv("GAIT_BEGAN", began, 1);
        if (values->overflow)
            failed |= setenv("GAIT_OVERFLOW", values->overflow, 1);
        snprintf(ring, sizeof ring, "%" PRId64, values->ring_bytes);
        if (values->ring_bytes)
            failed |= setenv("GAIT_RING", ring, 1);
        failed |= run_profile_set(&session->profile);
        failed |= set_identity(session);
        if (values->has_kernels)
            failed |= setenv("TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE", "1", 1);
        if (failed)
            say("nothing is recorded: %s", strerror(errno));
        else
            session->has_no_package = python_hook_set() != GAIT_OK;
        fail_clear();
    }
    if (failed || !session->is_recording) {
        session->is_recording = false;
        unsetenv("GAIT_DIR");
        setenv("GAIT_ENABLE", "0", 1);
    }
}

static int tell_exec_error(const struct session *session, int error)
{
    int code = launch_refused(session->arguments[0], error);
    if (session->is_recording)
        run_directory_remove_unused(&session->directory, true);
    return code;
}

// In shared memory, if there is any: then there is nothing to tell.
static void tell_where_buffers_lay(const char *path)
{
    uint64_t free_bytes;
    const char *why = shared_memory_why_none(&free_bytes);
    if (why)
        say("%s: %s; the buffers were files in %s, on its disk", RING_FILE_SHARED_MEMORY, why,
            path);
}

// The last line says what there is, where it lies, what to type next.
static void tell_end(const struct session *session, const struct launch *launch)
{
    const struct run_directory *directory = &session->directory;
    struct run_content content = run_directory_content(directory);
    char died[64] = "", quoted[2 * PATH_MAX];
    if (WIFSIGNALED(launch->wait_status))
        snprintf(died, sizeof died, "killed by signal %d; ", WTERMSIG(launch->wait_status));
    const char *path = shell_word(directory->path, quoted, sizeof quoted);
    if (!content.shards) {
        const char *may_be = session->has_no_package
                                 ? "gait's Python package is not where it was installed beside "
                                   "this gait; install both together, or import gait in the program"
                             : run_directory_try(directory)
                                 ? fail_text()
                                 : "no process imported torch or gait or called gait_start(), or "
                                   "starting failed; gait record samples any Python program";
        bool is_gone = run_directory_remove_unused(directory, false);
        const char *option = python_hook_obstacle(session->arguments);
        if (option)
            say("%snothing was recorded%s%s: Python's option %s blocks gait; remove the option, or "
                "import gait in the program",
                died, is_gone ? "" : " in ", is_gone ? "" : path, option);
        else
            say("%snothing was recorded%s%s: %s", died, is_gone ? "" : " in ", is_gone ? "" : path,
                may_be);
        fail_clear();
        return;
    }
    tell_where_buffers_lay(path);
    run_screen_put(directory->absolute, path);
    char told[2 * PATH_MAX + 256], next[4 * PATH_MAX + 64];
    snprintf(told, sizeof told, "%s%" PRIu64 " shard%s, %s in %s", died, content.shards,
             units_plural(content.shards), units_bytes(content.bytes).text, path);
    if (session->sample.sampler.totals.samples)
        snprintf(next, sizeof next, "gait report %s, and gait leaf %s", path, path);
    else
        snprintf(next, sizeof next, "gait report %s", path);
    say_next(told, "next", next);
}

// What a file says of the recording, where neither option nor variable does.
static int take_settings(struct session *session, const struct operands *operands)
{
    struct run_values *values = &session->values;
    struct run_profile *profile = &session->profile;
    struct gait_schedule schedule;
    if (values->windows && gait_schedule_parse(values->windows, &schedule))
        return fail_because(GAIT_ERR_ARGUMENT, "'--windows'");
    const struct run_wish wish = {.file = values->config,
                                  .windows = values->windows,
                                  .overflow = values->overflow,
                                  .ring_bytes = values->ring_bytes,
                                  .profiler = values->profiler,
                                  .is_profiled = values->is_profiled,
                                  .has_no_metadata = values->has_no_metadata,
                                  .tags = &values->tags,
                                  .operands = operands};
    int status = run_profile_read(profile, &wish);
    if (status)
        return status;
    values->has_kernels |= config_flag(&profile->config, SETTING_INDUCTOR_KERNELS);
    if (!values->output)
        values->output = run_profile_said(profile, SETTING_DIRECTORY);
    if (!values->overflow)
        values->overflow = run_profile_said(profile, SETTING_OVERFLOW);
    if (!values->ring_bytes && run_profile_said(profile, SETTING_RING))
        values->ring_bytes = config_number(&profile->config, SETTING_RING);
    return GAIT_OK;
}

static void tell_where(const struct run_directory *directory)
{
    char quoted[2 * PATH_MAX], told[2 * PATH_MAX + 64], next[2 * PATH_MAX + 64];
    const char *path = shell_word(directory->path, quoted, sizeof quoted);
    snprintf(told, sizeof told, "recording into %s", path);
    snprintf(next, sizeof next, "gait report %s", path);
    say_next(told, "so far", next);
}

// What is said before the program says anything.
static void tell_begin(const struct session *session)
{
    if (!session->is_recording)
        return;
    if (session->values.has_kernels)
        say("torch.compile will recompile so that fused CPU kernels have names");
    if (!is_speaking(session) || (job_rank() != 0 && session->directory.is_shared))
        return;
    if (!session->values.is_quiet && isatty(STDERR_FILENO)) // a log has the last line
        tell_where(&session->directory);
    run_profile_tell(&session->profile, session->values.is_quiet);
}

// A run without shards is removed, and nothing may lie in its way.
static void note_outcome(const struct session *session, const struct launch *launch)
{
    const struct run_directory *directory = &session->directory;
    const int how = launch->wait_status;
    const struct run_outcome outcome = {.is_known = true,
                                        .code = WIFEXITED(how) ? (unsigned)WEXITSTATUS(how) : 0,
                                        .signal = WIFSIGNALED(how) ? (unsigned)WTERMSIG(how) : 0};
    if (!directory->is_nested && run_directory_content(directory).shards &&
        run_outcome_write(directory->absolute, outcome, directory->is_shared))
        fail_clear(); // a full disk was told of already, and the shards tell most of it
}

// Makes the recording whole, and of it what was asked for.
static int finish_recording(struct session *session, const struct launch *launch)
{
    if (run_finish(session->directory.absolute, launch))
        say("%s", fail_text());
    note_outcome(session, launch);
    const bool speaks = is_first(session);
    const bool tells = speaks && !session->values.is_quiet;
    const bool is_empty = !run_directory_content(&session->directory).shards;
    const bool has_profiler = run_profile_said(&session->profile, SETTING_PROFILER);
    const struct run_end end = {.directory = session->directory.path,
                                .invocation = session->directory.invocation,
                                .is_quiet = session->values.is_quiet || !speaks,
                                .is_first = speaks,
                                .program = session->arguments[0]};
    // who names a profiler asks for its table first of all
    if (tells && !has_profiler)
        tell_end(session, launch);
    if (!session->directory.is_nested) {
        run_profile_actions(&session->profile, &end);
        run_profile_table(&session->profile, &end);
    }
    if (tells && has_profiler)
        tell_end(session, launch);
    // that there is nothing to make traces of was said
    if (!session->directory.is_nested && !(tells && is_empty))
        run_profile_write(&session->profile, &end);
    if (speaks && !tells)
        run_directory_remove_unused(&session->directory, false);
    return launch_exit_code(launch);
}

// Of the samples; 0 where none are asked for.
static void choose_rate(struct session *session)
{
    const struct config *config = &session->profile.config;
    if (!session->is_recording)
        return;
    session->sample.rate_hz = session->values.sample_hz;
    if (!session->values.sample_hz && config_flag(config, SETTING_PY_SPY))
        session->sample.rate_hz = config_number(config, SETTING_PY_SPY_RATE);
    session->sample.has_native = session->values.has_native;
    if (session->sample.has_native && !session->sample.rate_hz)
        session->sample.rate_hz = NATIVE_SAMPLE_HZ;
    snprintf(session->sample.directory, sizeof session->sample.directory, "%s",
             session->directory.absolute);
}

// One of several `gait run` of a job looks after the ranks of all.
static void choose_watch(struct session *session)
{
    if (!session->is_recording || !is_speaking(session))
        return;
    session->stuck.after_ns = (int64_t)(session->values.stuck_after_s * 1e9);
    snprintf(session->stuck.directory, sizeof session->stuck.directory, "%s",
             session->directory.absolute);
}

// Energy and state of the machine's devices. An outer `gait run` reads them already.
static void start_meter(struct session *session, pid_t pid)
{
    const struct config *config = &session->profile.config;
    const char *folder = session->directory.absolute;
    char path[PATH_MAX + 192], lock[PATH_MAX + 64], name[160];
    const int64_t hz = session->values.energy_hz;
    const bool is_said = config_entry_of(config, SETTING_MEASURE_GPU_DATA)->level > CONFIG_DEFAULT;
    const bool is_on = config_flag(config, SETTING_MEASURE_GPU_DATA) || hz;
    if (!session->is_recording || session->directory.is_nested || !is_on)
        return;
    shard_out_name(name, sizeof name, -1, pid); // it is the machine's, not a rank's
    snprintf(path, sizeof path, "%s/meter.%s.gait", folder, name);
    snprintf(lock, sizeof lock, "%s/%s", folder, RUN_MARK_NAME);
    const struct meter_wish wish = {.rate_hz = hz ? hz : METER_USUAL_HZ,
                                    .is_asked = is_said || hz,
                                    .path = path,
                                    .lock = lock,
                                    .subject_pid = pid};
    metering_start(&session->meter, &wish);
}

static void start_watchers(void *context, pid_t program)
{
    struct session *session = context;
    start_meter(session, program);
    run_sample_start(&session->sample, program);
    run_stuck_start(&session->stuck);
}

static void stop_watchers(struct session *session)
{
    struct metering *meter = &session->meter;
    run_stuck_stop(&session->stuck);
    run_sample_stop(&session->sample);
    metering_stop(meter);
    if (*session->sample.why)
        say("some threads or processes were not sampled: %s", session->sample.why);
    if (*meter->why && !session->values.is_quiet)
        say("energy was not measured to the end: %s", meter->why);
    else if (*meter->missing && meter->is_asked && !session->values.is_quiet)
        say("energy was not measured: %s", meter->missing);
}

static int run_program(struct session *session, const struct operands *operands)
{
    struct launch launch;
    if (take_settings(session, operands)) {
        command_refuse(&cmd_run);
        return EXIT_RUN_FAILED;
    }
    // options end where the program begins, so its line ends where ours does
    operands->texts[operands->count] = NULL;
    int code = prepare_past_limits(session);
    if (code)
        return code;
    set_environment(session);
    tell_begin(session);
    choose_rate(session);
    choose_watch(session);
    const struct launch_watcher watcher = {start_watchers, session, session->sample.rate_hz > 0};
    const int status = launch_watched(session->arguments, &watcher, &launch);
    stop_watchers(session);
    if (status) {
        say("%s", fail_text());
        return EXIT_RUN_FAILED;
    }
    if (launch.exec_error)
        return tell_exec_error(session, launch.exec_error);
    return session->is_recording ? finish_recording(session, &launch) : launch_exit_code(&launch);
}

static int run(const void *given, const struct operands *operands)
{
    struct session session = {.values = *(const struct run_values *)given,
                              .arguments = operands->texts};
    int code = run_program(&session, operands);
    run_profile_finish(&session.profile);
    return code;
}

static const char *const named_profilers[] = {"simple", "advanced", "pytorch", "none", NULL};

#define AT(field) offsetof(struct run_values, field)
static const struct option options[] = {
    {TEXT_ROW('o', "output", "DIR", AT(output),
              "run directory (default: gait-<program>-<UTC time>)")},
    {FLAG_ROW('a', "append", AT(is_append), "add to a run directory that already holds shards")},
    {FLAG_ROW('q', "quiet", AT(is_quiet), "print errors only")},
    {CHOICE_ROW(0, "overflow", "POLICY", ring_setting_policies, AT(overflow),
                "when a buffer is full: drop, block or overwrite")},
    {RANGE_ROW(OPTION_SIZE, 0, "ring", "BYTES", RING_SETTING_MIN_BYTES, RING_SETTING_MAX_BYTES,
               AT(ring_bytes), "buffer of each thread, such as 256K or 16M")},
    {TEXT_ROW(0, "windows", "WHEN", AT(windows),
              "steps whose ops are recorded: off, all, 5/3/100")},
    {FLAG_ROW(0, "inductor-kernels", AT(has_kernels), "fused CPU kernels by name; recompiles"),
     .is_other = true},
    {FLAG_ROW('p', "profile", AT(is_profiled), "record ops by a schedule: --profiling.KEY V")},
    {CHOICE_ROW(0, "profiler", "NAME", named_profilers, AT(profiler),
                "times of phases (simple) or functions (advanced)")},
    {NUMBER_ROW('s', "sample", "HZ", 1, 1000000000, AT(sample_hz),
                "also sample Python stacks, as gait record does")},
    {FLAG_ROW('n', "native", AT(has_native), "the same with native frames, see gait record")},
    {SECONDS_ROW(0, "stuck-after", "SEC", 1000, 366 * 86400000ll, AT(stuck_after_s),
                 "say why if no rank moves for so long: gait stuck")},
    {NUMBER_ROW(0, "energy", "HZ", 1, METER_MOST_HZ, AT(energy_hz),
                "readings of energy and power a second (default: 10)")},
    {OPTION_ROW(OPTION_TEXTS, 0, "tag", "K=V", AT(tags),
                "what to know the run by later; may be repeated")},
    {FLAG_ROW(0, "no-metadata", AT(has_no_metadata),
              "do not record command line, commit, versions")},
    {TEXT_ROW('c', "config", "FILE", AT(config), "read settings from YAML, see gait config")},
};

const struct command cmd_run = {
    .purpose = "run a program and record it",
    .summary = "Runs CMD, and records it and every process it starts. Ends as CMD does.",
    .about = {"Every process of the program that uses gait writes one shard into the run "
              "directory; all shards share one run id. gait run sets GAIT_DIR (absolute) and "
              "GAIT_RUN_ID, and adds gait's hook for PyTorch to PYTHONPATH. It changes nothing "
              "else: the program keeps its output, terminal, process group and exit code. gait run "
              "passes on the signals that it gets.",
              "--profiler simple prints at the end how often and how long each phase of a PyTorch "
              "training ran, like Lightning's profiler of that name. --profiler advanced prints "
              "which Python functions took the time, for each phase and in all, and writes *.prof "
              "files for gait pstats. --profiler pytorch is --profile. Each rank writes a file "
              "into the run directory; the first rank also prints it.",
              "A killed process leaves its newest records in shared memory. gait run adds them to "
              "the shard when the program has ended. If gait run was killed too, the first command "
              "that reads the run does so.",
              "--windows takes what gait plan takes. 5/3/100, the default, records the ops of "
              "steps 5 to 7 of every 100. --windows all leaves out 6 of every 61 steps, to measure "
              "what recording ops costs. --profile records by the schedule of the profiling "
              "section (gait config list). By default it skips 2 steps, warms up for one, records "
              "the next three, and writes profiler_traces/*.pt.trace.json into the run directory. "
              "Any --profiling.KEY does the same; wait, warmup, active and repeat count epochs "
              "without --profile and steps with it. --inductor-kernels records torch.compile's "
              "fused CPU kernels as separate ops.",
              "Where GPUs or processors tell their energy, gait run reads it during the run, for "
              "gait energy. measure_gpu_data=false switches that off; --energy also says what is "
              "missing.",
              "Each process records its command line, the git commit of the program's folder and "
              "whether files were changed, the machine, and the versions of Python and of packages "
              "that matter to a training; gait info and gait compare show them. In the command "
              "line, values of arguments whose names look like a secret, such as --token X, are "
              "***. --no-metadata leaves all of that out. --tag lr=0.1 adds a tag of your own.",
              "When a buffer is full, --overflow drop counts the lost events and goes on, block "
              "waits, and overwrite keeps the newest events.",
              "--stuck-after 5m looks now and then whether the ranks move, as gait stuck does. "
              "When some have held the others up for five minutes, stuck.txt in the run directory "
              "says which and where, one line says so on stderr, and the program goes on.",
              "If gait cannot write the directory, it prints one sentence and runs the program "
              "without recording. It refuses a directory that is not empty, unless --append is "
              "given or the directory belongs to the same job, as when srun, mpirun or torchrun "
              "starts gait run once a rank. While another run is being recorded into the "
              "directory, this run goes into DIR-2. If several gait run write one directory, as "
              "with -a -o DIR on each node, only that of rank 0 prints the report, and each writes "
              "the traces of its own processes. Inside another gait run, or if GAIT_DIR is set, "
              "the run joins that directory."},
    .examples = {{"gait run -o run1 -- python train.py", "Record a training into run1."},
                 {"gait run --profile -- python train.py --my-flag",
                  "Record steps 3 to 5 with all ops, and write their torch trace into the run "
                  "directory."},
                 {"gait run --profile --profiling.active 10 -- python train.py",
                  "Do the same for ten steps."},
                 {"gait run --profiling.wait 1 --profiling.active 2 -- python train.py",
                  "Record the third and fourth epoch, as a YAML section with these settings "
                  "would."},
                 {"gait run -- torchrun --nproc-per-node 8 train.py",
                  "Record all ranks, one shard each."},
                 {"srun gait run -- python train.py",
                  "Record the ranks of a SLURM step into one directory."},
                 {"gait run -a -o shared -- torchrun --nnodes 2 train.py",
                  "Run this on each node, with DIR on a shared disk: it makes one run, and the "
                  "node of rank 0 prints the report."}},
    .exit_status = "The status of the program; 128 + N if signal N ended it; 125 if gait run could "
                   "not begin, 126 if the program cannot be executed, 127 if it does not exist.",
    .line = {.command = "run",
             OPTIONS_ARE(options),
             .min_operands = 1,
             .max_operands = UINT32_MAX,
             .operands = "[--] CMD [ARG...]",
             .stops_at_operand = true,
             .has_settings = true},
    .usage_status = EXIT_RUN_FAILED,
    .run = run,
};
