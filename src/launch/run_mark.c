// SPDX-License-Identifier: Apache-2.0
// Every step is one atomic call of the file system, because the ranks of a job come here
// at the same time from many machines.
#define _GNU_SOURCE
#include "launch/run_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/file_name.h"
#include "base/own_file.h"
#include "base/process.h"
#include "launch/job.h"

// How long a run of another host is taken to be at work, and how long ranks of a job
// whose name another job may have later take to arrive.
enum { FOREIGN_SECONDS = 600, ARRIVAL_SECONDS = 60 };

bool run_mark_is_id(const char *text)
{
    return strlen(text) == 32 && strspn(text, "0123456789abcdef") == 32;
}

int run_mark_make_id(char out[33])
{
    return own_file_digits(out, 16);
}

static void name_host(char host[65])
{
    memset(host, 0, 65);
    gethostname(host, 64);
    for (char *at = host; *at; at++) // one word of the line
        *at = *at == ' ' || *at == '\n' ? '_' : *at;
}

int run_mark_make(struct run_mark *ret_mark)
{
    struct run_mark mark = {
        .pid = getpid(), .start = process_start(getpid()), .pid_namespace = process_namespace()};
    int status = run_mark_make_id(mark.run_id);
    name_host(mark.host);
    job_name_of_ranks(mark.job, sizeof mark.job);
    if (!status)
        *ret_mark = mark;
    return status;
}

// The next word of the line, without what finds no room; "" where there is none.
static void take_word(const char **line, char *out, size_t room)
{
    *line += strspn(*line, " ");
    const size_t length = strcspn(*line, " \n");
    snprintf(out, room, "%.*s", (int)length, *line);
    *line += length;
}

// "<run id> <job, or -> <host> <pid> <start> <pid namespace>"; marks of older versions end with
// the job, or the start.
static bool read_line(const char *line, struct run_mark *ret_mark)
{
    struct run_mark mark = {.pid = 0};
    char pid[24], start[24], space[24];
    take_word(&line, mark.run_id, sizeof mark.run_id);
    take_word(&line, mark.job, sizeof mark.job);
    take_word(&line, mark.host, sizeof mark.host);
    take_word(&line, pid, sizeof pid);
    take_word(&line, start, sizeof start);
    take_word(&line, space, sizeof space);
    if (!run_mark_is_id(mark.run_id))
        return false;
    if (!strcmp(mark.job, "-"))
        mark.job[0] = '\0';
    mark.pid = strtoll(pid, NULL, 10);
    mark.start = strtoll(start, NULL, 10);
    mark.pid_namespace = strtoull(space, NULL, 10);
    *ret_mark = mark;
    return true;
}

bool run_mark_read(const char *directory, struct run_mark *ret_mark)
{
    char path[PATH_MAX], line[512] = "";
    struct stat about;
    if (file_name_join(path, sizeof path, directory, RUN_MARK_NAME)) {
        fail_clear();
        return false;
    }
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return false;
    ssize_t got = read(file, line, sizeof line - 1);
    int failed = fstat(file, &about);
    close(file);
    if (got < 32 || failed || !read_line(line, ret_mark))
        return false;
    ret_mark->age_seconds = (int64_t)time(NULL) - (int64_t)about.st_mtime;
    return true;
}

int run_mark_put(const char *directory, const struct run_mark *mark, bool is_over)
{
    char path[PATH_MAX];
    struct own_file file;
    if (file_name_join(path, sizeof path, directory, RUN_MARK_NAME))
        return GAIT_ERR_IO;
    int status = own_file_begin(&file, path);
    if (status)
        return status;
    const int wrote =
        dprintf(file.fd, "%s %s %s %" PRId64 " %" PRId64 " %" PRIu64 "\n", mark->run_id,
                *mark->job ? mark->job : "-", *mark->host ? mark->host : "-", mark->pid,
                mark->start, mark->pid_namespace);
    if (wrote >= 0)
        return is_over ? own_file_keep(&file) : own_file_keep_first(&file);
    status = fail(GAIT_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
    own_file_drop(&file);
    return status;
}

bool run_mark_is_here(const struct run_mark *mark)
{
    char host[65];
    name_host(host);
    return !strcmp(host, mark->host);
}

bool run_mark_lives(const struct run_mark *mark)
{
    if (!mark->pid)
        return false; // an older version's
    return run_mark_is_here(mark) ? process_lives_in(mark->pid_namespace, mark->pid, mark->start)
                                  : mark->age_seconds < FOREIGN_SECONDS;
}

bool run_mark_is_same(const struct run_mark *one, const struct run_mark *other)
{
    return one->pid == other->pid && one->start == other->start && !strcmp(one->host, other->host);
}

bool run_mark_is_of_job(const struct run_mark *found, const struct run_mark *own)
{
    if (!*own->job || strcmp(found->job, own->job) != 0)
        return false;
    char sure[128];
    bool is_sure = job_name(sure, sizeof sure) && !strcmp(sure, own->job);
    return is_sure || run_mark_lives(found) || found->age_seconds < ARRIVAL_SECONDS;
}
