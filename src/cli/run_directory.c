// SPDX-License-Identifier: Apache-2.0
// Every step is one atomic call of the file system (mkdir, link), because the
// ranks of a job come here at the same time from many machines.
#define _GNU_SOURCE
#include "cli/run_directory.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/slice.h"
#include "cli/folders.h"
#include "cli/job.h"
#include "cli/run_name.h"

static const char mark_name[] = ".gait-run";

// What `.gait-run` says: the run's id, and the job whose processes may join.
struct mark {
    char run_id[33], job[128];
};

static int join(char *out, const char *directory, const char *name)
{
    int length = snprintf(out, PATH_MAX, "%s/%s", directory, name);
    if (length < 0 || length >= PATH_MAX)
        return fail(GAIT_ERR_IO, "the path '%s/%s' is too long", directory, name);
    return GAIT_OK;
}

static bool is_run_id(const char *text)
{
    return strlen(text) == 32 && strspn(text, "0123456789abcdef") == 32;
}

static int make_run_id(char out[33])
{
    uint8_t bytes[16];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return fail(GAIT_ERR_IO, "no random numbers: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return GAIT_OK;
}

// The mark in the directory; false if there is none that can be read.
static bool read_mark(const char *directory, struct mark *ret_mark)
{
    char path[PATH_MAX], line[sizeof(struct mark) + 2] = "";
    if (join(path, directory, mark_name))
        return false;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return false;
    ssize_t got = read(file, line, sizeof line - 1);
    close(file);
    if (got < 32)
        return false;
    line[strcspn(line, "\n")] = '\0';
    char *blank = strchr(line, ' ');
    if (blank)
        *blank = '\0';
    if (!is_run_id(line))
        return false;
    memcpy(ret_mark->run_id, line, sizeof ret_mark->run_id);
    snprintf(ret_mark->job, sizeof ret_mark->job, "%s", blank ? blank + 1 : "");
    return true;
}

// Puts our mark there unless somebody has been faster: a link appears whole or
// not at all, and never over another.
static int put_mark(const char *directory, const struct mark *mark)
{
    char path[PATH_MAX], draft[PATH_MAX], name[64];
    snprintf(name, sizeof name, "%s.%.8s", mark_name, mark->run_id);
    if (join(path, directory, mark_name) || join(draft, directory, name))
        return GAIT_ERR_IO;
    int file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0)
        return fail(GAIT_ERR_IO, "cannot write to '%s': %s", directory, strerror(errno));
    int wrote = dprintf(file, "%s %s\n", mark->run_id, mark->job);
    int error = errno;
    if (close(file) || wrote < 0) {
        unlink(draft);
        return fail(GAIT_ERR_IO, "cannot write to '%s': %s", directory, strerror(error));
    }
    // some file systems know no links; there the last of two rivals wins
    if (link(draft, path) && errno != EEXIST && rename(draft, path) == 0)
        return GAIT_OK;
    unlink(draft);
    return GAIT_OK;
}

static bool holds_anything(const char *path)
{
    DIR *directory = opendir(path);
    bool found = false;
    struct dirent *entry;
    while (directory && !found && (entry = readdir(directory))) {
        bool is_own = !strncmp(entry->d_name, mark_name, sizeof mark_name - 1);
        bool is_dots = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
        found = !is_dots && !is_own;
    }
    if (directory)
        closedir(directory);
    return found;
}

// `ret_is_new` is whether the last part was made here.
static int make_directory(const char *path, bool *ret_is_new)
{
    int status = folders_make_above(path);
    if (status)
        return status;
    *ret_is_new = mkdir(path, 0777) == 0;
    if (!*ret_is_new && errno != EEXIST)
        return fail(GAIT_ERR_IO, "cannot make '%s': %s", path, strerror(errno));
    struct stat about;
    if (!*ret_is_new && (stat(path, &about) || !S_ISDIR(about.st_mode)))
        return fail(GAIT_ERR_IO, "'%s' is not a directory", path);
    return GAIT_OK;
}

// A directory that was there before: may this run go into it?
static int check_joining(struct run_directory *directory, bool is_append, const struct mark *own)
{
    struct mark found;
    if (is_append || directory->is_joined || !holds_anything(directory->path))
        return GAIT_OK;
    bool same_job = *own->job && read_mark(directory->path, &found) && !strcmp(found.job, own->job);
    if (same_job)
        return GAIT_OK;
    return fail(GAIT_ERR_STATE,
                "'%s' is not empty; name another directory, or add to it with --append",
                directory->path);
}

// Makes the directory at `path` a place to record into.
static int settle(struct run_directory *directory, bool is_append)
{
    struct mark mark = {.job = ""};
    job_name(mark.job, sizeof mark.job);
    int status = make_directory(directory->path, &directory->is_new);
    if (!status && !directory->is_new)
        status = check_joining(directory, is_append, &mark);
    if (status)
        return status;
    if (access(directory->path, W_OK | X_OK) || !realpath(directory->path, directory->absolute))
        return fail(GAIT_ERR_IO, "cannot write to '%s': %s", directory->path, strerror(errno));
    const char *given = directory->is_joined ? getenv("GAIT_RUN_ID") : NULL;
    if (given && is_run_id(given)) {
        directory->is_nested = true;
        memcpy(directory->run_id, given, sizeof directory->run_id);
        return GAIT_OK;
    }
    if (!read_mark(directory->path, &mark)) {
        status = make_run_id(mark.run_id);
        if (!status)
            status = put_mark(directory->path, &mark);
        if (!status && !read_mark(directory->path, &mark))
            status = fail(GAIT_ERR_IO, "cannot read back '%s/%s'", directory->path, mark_name);
    }
    memcpy(directory->run_id, mark.run_id, sizeof directory->run_id);
    return status;
}

// gait-<program>-<job>, which all ranks agree on, else gait-<program>-<UTC
// time>, with a number behind it when two runs start in one second.
static int settle_default(struct run_directory *directory, const char *program)
{
    char job[128], when[32];
    time_t now = time(NULL);
    struct tm utc;
    if (job_name(job, sizeof job)) {
        snprintf(directory->path, sizeof directory->path, "gait-%s-%s", program, job);
        return settle(directory, false);
    }
    if (!gmtime_r(&now, &utc) || !strftime(when, sizeof when, "%Y%m%dT%H%M%SZ", &utc))
        snprintf(when, sizeof when, "%lld", (long long)now);
    for (unsigned number = 1; number < 1000; number++) {
        char suffix[16] = "";
        if (number > 1)
            snprintf(suffix, sizeof suffix, "-%u", number);
        snprintf(directory->path, sizeof directory->path, "gait-%s-%s%s", program, when, suffix);
        if (mkdir(directory->path, 0777) == 0) {
            int status = settle(directory, false);
            directory->is_new = true;
            return status;
        }
        if (errno != EEXIST)
            return fail(GAIT_ERR_IO, "cannot make '%s': %s", directory->path, strerror(errno));
    }
    return fail(GAIT_ERR_IO, "'%s' and its like exist already", directory->path);
}

int run_directory_open(const struct run_request *request, struct run_directory *ret_directory)
{
    struct run_directory directory = {.is_named = request->output != NULL};
    const char *given = request->output;
    if (!given && (given = getenv("GAIT_DIR")) && *given)
        directory.is_joined = true;
    int status;
    if (given && *given) {
        if (strlen(given) >= sizeof directory.path)
            return fail(GAIT_ERR_IO, "the path '%s' is too long", given);
        memcpy(directory.path, given, strlen(given) + 1);
        status = settle(&directory, request->is_append);
    } else {
        char program[RUN_NAME_BYTES];
        run_name(request->arguments, program);
        status = settle_default(&directory, program);
    }
    if (!status)
        *ret_directory = directory;
    return status;
}

bool run_directory_is_one(const char *path)
{
    char mark[PATH_MAX];
    if (join(mark, path, mark_name) == 0)
        return access(mark, F_OK) == 0;
    fail_clear();
    return false;
}

struct run_content run_directory_content(const struct run_directory *directory)
{
    struct run_content content = {0, 0};
    DIR *opened = opendir(directory->absolute);
    struct dirent *entry;
    while (opened && (entry = readdir(opened))) {
        struct stat about;
        if (!slice_ends_with(slice_of(entry->d_name), ".gait"))
            continue;
        if (fstatat(dirfd(opened), entry->d_name, &about, 0) || !S_ISREG(about.st_mode))
            continue;
        content.shards++;
        content.bytes += (uint64_t)about.st_size;
    }
    if (opened)
        closedir(opened);
    return content;
}

bool run_directory_remove_unused(const struct run_directory *directory)
{
    char path[PATH_MAX];
    bool is_ours = directory->is_new && !directory->is_named && !directory->is_joined;
    if (!is_ours || holds_anything(directory->absolute))
        return false;
    if (!join(path, directory->absolute, mark_name))
        unlink(path);
    return rmdir(directory->absolute) == 0;
}
