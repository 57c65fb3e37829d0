// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "cli/io/pt_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/job/torch_processes.h"
#include "base/fail.h"
#include "base/own_file.h"
#include "base/slice.h"
#include "launch/run_own.h"

#define PATH_BYTES 4096
#define MOST_TRIES 1000000

// Whether the name means a folder: one that is there, or what is no trace's name.
static bool is_folder(const char *path)
{
    struct stat about;
    if (!path || !strcmp(path, "-"))
        return false;
    if (stat(path, &about) == 0)
        return S_ISDIR(about.st_mode);
    struct slice name = slice_of(path);
    return !slice_ends_with(name, ".json") && !slice_ends_with(name, ".json.gz");
}

static bool is_same_process(struct gait_trace *trace, uint32_t left, uint32_t right)
{
    struct gait_shard_info a, b;
    return gait_trace_shard(trace, left, &a) == 0 && gait_trace_shard(trace, right, &b) == 0 &&
           a.pid == b.pid && !strcmp(a.host, b.host);
}

// A process may have several shards; its file comes with the first.
static bool is_later_shard(const struct pt_files *files, const struct torch_processes *processes,
                           size_t place)
{
    for (size_t i = 0; i < place; i++) {
        if (is_same_process(files->trace, processes->rows[i].shard, processes->rows[place].shard))
            return true;
    }
    return false;
}

// Whether a step belongs to a time: half of its work lies in it. Not of its length:
// a window opens and closes in the front of a step, and may take its time there.
static bool has_step(const struct gait_export_options *options, const struct torch_process *process,
                     size_t place)
{
    const struct torch_work *work = &process->work[place];
    int64_t begin_ns = work->begin_ns, end_ns = work->end_ns;
    if (options->since_ns && begin_ns < options->since_ns)
        begin_ns = options->since_ns;
    if (options->until_ns && end_ns > options->until_ns)
        end_ns = options->until_ns;
    return end_ns > begin_ns && end_ns - begin_ns >= (work->end_ns - work->begin_ns) / 2;
}

// A process has a file of its own, whose head says from when to when it is.
static void narrow(const struct pt_files *files, uint32_t shard,
                   struct gait_export_options *options)
{
    const struct export_span *span = files->spans ? &files->spans[shard] : NULL;
    if (span && span->since_ns > options->since_ns)
        options->since_ns = span->since_ns;
    if (span && span->until_ns < INT64_MAX &&
        (!options->until_ns || span->until_ns < options->until_ns))
        options->until_ns = span->until_ns;
}

static int write_to(const struct pt_files *files, const struct gait_export_options *options,
                    const char *path)
{
    return export_write(
        &(struct export_run){.trace = files->trace, .options = options, .spans = files->spans},
        path);
}

static void set_steps(struct gait_export_options *options, const struct torch_process *process)
{
    size_t first = 0, count = 0;
    for (size_t i = 0; i < process->step_count; i++) {
        if (has_step(options, process, i) && !count++)
            first = i;
    }
    options->steps = process->steps ? process->steps + first : NULL;
    options->step_count = count;
    options->step_track = process->steps ? process->step_track + 1 : 0;
}

// --- one file in a folder -----------------------------------------------------------

static int put_worker(const struct pt_files *files, const struct gait_shard_info *shard,
                      bool is_alone, char *text)
{
    int used;
    if (!files->worker && shard->rank >= 0)
        used = snprintf(text, PATH_BYTES, "%s_rank%" PRId64 "_%" PRId64, shard->host, shard->rank,
                        shard->pid);
    else if (!files->worker)
        used = snprintf(text, PATH_BYTES, "%s_%" PRId64, shard->host, shard->pid);
    else if (is_alone)
        used = snprintf(text, PATH_BYTES, "%s", files->worker);
    else if (shard->rank >= 0)
        used = snprintf(text, PATH_BYTES, "%s_rank%" PRId64, files->worker, shard->rank);
    else
        used = snprintf(text, PATH_BYTES, "%s_%" PRId64, files->worker, shard->pid);
    if (used < 0 || used >= PATH_BYTES)
        return fail(GAIT_ERR_ARGUMENT, "the name of a worker is too long");
    for (char *at = text; *at; at++) { // a host's name is what somebody set
        if (*at == '/')
            *at = '_';
    }
    return GAIT_OK;
}

// Takes a name nobody has: the time in it is made later until that is so.
static int reserve(const struct pt_files *files, const char *worker, int64_t ns, char *path)
{
    for (int i = 0; i < MOST_TRIES; i++, ns++) {
        int used = snprintf(path, PATH_BYTES, "%s/%s.%" PRId64 ".pt.trace.json%s", files->output,
                            worker, ns, files->options.gzip ? ".gz" : "");
        if (used < 0 || used >= PATH_BYTES)
            return fail(GAIT_ERR_ARGUMENT, "the folder name '%s' is too long", files->output);
        const int error = own_file_reserve(path);
        if (!error)
            return GAIT_OK;
        if (error != EEXIST)
            return fail(GAIT_ERR_IO, "cannot write '%s': %s", path, strerror(error));
    }
    return fail(GAIT_ERR_IO, "'%s' contains too many traces of the same time", files->output);
}

static int write_one(const struct pt_files *files, const struct torch_process *process,
                     const struct gait_export_options *options, const char *worker)
{
    char path[PATH_BYTES];
    struct gait_shard_info shard;
    struct gait_export_options given = *options;
    int is_partial = options->metadata != NULL;
    int status = gait_trace_shard(files->trace, process->shard, &shard);
    given.ret_is_partial = &is_partial;
    given.process = process->shard + 1;
    narrow(files, process->shard, &given);
    set_steps(&given, process);
    if (!status)
        status = reserve(files, worker, given.until_ns ? given.until_ns : shard.end_ns, path);
    if (status)
        return status;
    status = write_to(files, &given, path);
    if (!status && files->ret_partial)
        *files->ret_partial += is_partial != 0;
    if (status)
        own_file_remove(path);
    else if (files->ret_count)
        ++*files->ret_count;
    else
        puts(path);
    return status;
}

static int write_windows(const struct pt_files *files, const struct torch_process *process,
                         const char *worker)
{
    const struct gait_export_options *all = &files->options;
    int status = GAIT_OK;
    for (size_t i = 0; !status && i < process->window_count; i++) {
        const struct torch_window *window = &process->windows[i];
        struct gait_export_options options = *all;
        if ((all->since_ns && window->end_ns <= all->since_ns) ||
            (all->until_ns && window->begin_ns >= all->until_ns))
            continue;
        options.since_ns = window->begin_ns;
        options.until_ns = window->end_ns;
        if (window->is_partial)
            options.metadata = "{\"partial\": true}";
        status = write_one(files, process, &options, worker);
    }
    return status;
}

static int write_process(const struct pt_files *files, const struct torch_process *process,
                         bool is_alone)
{
    char worker[PATH_BYTES];
    struct gait_shard_info shard;
    int status = gait_trace_shard(files->trace, process->shard, &shard);
    if (!status)
        status = put_worker(files, &shard, is_alone, worker);
    if (status)
        return status;
    return files->is_each_window ? write_windows(files, process, worker)
                                 : write_one(files, process, &files->options, worker);
}

static bool is_wanted(const struct pt_files *files, const struct torch_process *process)
{
    const struct export_span *span = files->spans ? &files->spans[process->shard] : NULL;
    return (!span || span->since_ns < span->until_ns) &&
           (!files->invocation || run_own_has(files->trace, process->shard, files->invocation));
}

static int write_folder(const struct pt_files *files, const struct torch_processes *processes)
{
    int status = GAIT_OK;
    size_t windows = 0;
    for (size_t i = 0; i < processes->count; i++)
        windows += processes->rows[i].window_count;
    if (!processes->count)
        return fail(GAIT_ERR_MISSING, "this recording contains no PyTorch ops");
    if (files->is_each_window && !windows)
        return fail(GAIT_ERR_MISSING, "this run has no window with recorded ops");
    const int error = !access(files->output, F_OK) ? 0 : own_folder_make(files->output, 0777);
    if (error && error != EEXIST)
        return fail(GAIT_ERR_IO, "cannot make the folder '%s': %s", files->output, strerror(error));
    for (size_t i = 0; !status && i < processes->count; i++) {
        if (is_wanted(files, &processes->rows[i]) && !is_later_shard(files, processes, i))
            status = write_process(files, &processes->rows[i], processes->count == 1);
    }
    return status;
}

// --- one file -----------------------------------------------------------------------

static int write_file(const struct pt_files *files, const struct torch_processes *processes)
{
    struct gait_export_options options = files->options;
    if (processes->count == 1) {
        options.process = processes->rows[0].shard + 1;
        narrow(files, processes->rows[0].shard, &options);
        set_steps(&options, &processes->rows[0]);
    }
    return write_to(files, &options, files->output);
}

int pt_files_write(const struct pt_files *files)
{
    struct torch_processes processes;
    if (files->is_each_window && !is_folder(files->output))
        return fail(GAIT_ERR_ARGUMENT, "one file for each window needs a folder: name it with -o");
    int status = torch_processes_find(&processes, files->trace);
    if (status)
        return status;
    status =
        is_folder(files->output) ? write_folder(files, &processes) : write_file(files, &processes);
    torch_processes_finish(&processes);
    return status;
}
