// SPDX-License-Identifier: Apache-2.0
// Many come here at the same time, from many machines: mkdir() and the mark decide
// who made a folder and whose run it is.
#define _GNU_SOURCE
#include "launch/run_directory.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/file_name.h"
#include "base/own_file.h"
#include "base/slice.h"
#include "launch/job.h"
#include "launch/run_mark.h"
#include "launch/run_name.h"
#include "shard/folders.h"

static bool holds_anything(const char *path)
{
    DIR *directory = opendir(path);
    bool found = false;
    struct dirent *entry;
    while (directory && !found && (entry = readdir(directory))) {
        bool is_own = !strncmp(entry->d_name, RUN_MARK_NAME, sizeof RUN_MARK_NAME - 1);
        bool is_dots = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
        found = !is_dots && !is_own;
    }
    if (directory)
        closedir(directory);
    return found;
}

// A link of another user's leads to a run where a user or a launcher named it, not where the
// name is ours.
static int make_directory(struct run_directory *directory)
{
    const char *path = directory->path;
    int status = folders_make_above(path);
    if (status)
        return status;
    int error = own_folder_make(path, 0777);
    if (error == OWN_FILE_PLANTED && (directory->is_named || directory->is_joined))
        error = EEXIST;
    directory->is_new = !error;
    if (error && error != EEXIST)
        return fail(GAIT_ERR_IO, "cannot make '%s': %s", path, own_file_why(error));
    struct stat about;
    if (error && (stat(path, &about) || !S_ISDIR(about.st_mode)))
        return fail(GAIT_ERR_IO, "'%s' is not a directory", path);
    return GAIT_OK;
}

// Another run's folder: what it holds is finished, or somebody is at it.
static int refuse(struct run_directory *directory, const struct run_mark *found)
{
    directory->rival = found ? found->pid : 0;
    if (found)
        return fail(GAIT_ERR_STATE, "another run is being recorded into '%s'", directory->path);
    return fail(GAIT_ERR_STATE,
                "'%s' is not empty; name another directory, or add to it with --append",
                directory->path);
}

static void take_mark(struct run_directory *directory, const struct run_mark *mark)
{
    directory->is_shared = run_mark_lives(mark);
    memcpy(directory->run_id, mark->run_id, sizeof directory->run_id);
}

// The run that this folder is of: the one whose mark lies in it, where this process may
// join, else a new one.
static int find_run(struct run_directory *directory, bool is_append)
{
    struct run_mark own, found;
    bool is_open = is_append || directory->is_joined;
    int status = run_mark_make(&own);
    if (status)
        return status;
    bool is_marked = run_mark_read(directory->path, &found);
    if (is_marked && (is_open || run_mark_is_of_job(&found, &own))) {
        take_mark(directory, &found);
        return GAIT_OK;
    }
    bool is_full = !directory->is_new && !is_open && holds_anything(directory->path);
    if (is_marked && run_mark_lives(&found) && (!is_full || run_mark_is_here(&found)))
        return refuse(directory, &found);
    if (is_full)
        return refuse(directory, NULL);
    if (is_marked) // of a run that left nothing
        memcpy(own.run_id, found.run_id, sizeof own.run_id);
    status = run_mark_put(directory->path, &own, is_marked);
    if (!status && !run_mark_read(directory->path, &found))
        return fail(GAIT_ERR_IO, "cannot read back '%s/%s'", directory->path, RUN_MARK_NAME);
    if (status)
        return status;
    if (!run_mark_is_same(&found, &own) && !is_open && !run_mark_is_of_job(&found, &own))
        return refuse(directory, &found); // somebody was faster
    if (!run_mark_is_same(&found, &own))
        take_mark(directory, &found);
    memcpy(directory->run_id, found.run_id, sizeof directory->run_id);
    return GAIT_OK;
}

// Makes the directory at `path` a place to record into.
static int settle(struct run_directory *directory, bool is_append)
{
    int status = make_directory(directory);
    if (status)
        return status;
    if (access(directory->path, W_OK | X_OK) || !realpath(directory->path, directory->absolute))
        return fail(GAIT_ERR_IO, "cannot write to '%s': %s", directory->path, strerror(errno));
    const char *given = directory->is_joined ? getenv("GAIT_RUN_ID") : NULL;
    if (given && run_mark_is_id(given)) {
        directory->is_nested = true;
        memcpy(directory->run_id, given, sizeof directory->run_id);
        return GAIT_OK;
    }
    status = run_mark_make_id(directory->invocation);
    return status ? status : find_run(directory, is_append);
}

// The directory that the user names; while another run is recorded into it, the first of
// NAME-2, NAME-3 and so on that is free: a training is not to be stopped for a name.
static int settle_named(struct run_directory *directory, const char *given, bool is_append)
{
    size_t length = strlen(given);
    while (length > 1 && given[length - 1] == '/')
        length--;
    if (length + 8 >= sizeof directory->path)
        return fail(GAIT_ERR_IO, "the path '%s' is too long", given);
    int status = GAIT_OK;
    for (unsigned number = 1; number < 1000; number++) {
        int64_t rival = directory->rival;
        snprintf(directory->path, sizeof directory->path, "%.*s", (int)length, given);
        if (number > 1)
            snprintf(directory->path + length, sizeof directory->path - length, "-%u", number);
        status = settle(directory, is_append);
        bool is_taken = status == GAIT_ERR_STATE && (directory->rival || rival);
        directory->rival = directory->rival ? directory->rival : rival;
        if (!is_taken)
            break;
    }
    if (directory->rival && !status)
        fail_clear();
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
        const int error = own_folder_make(directory->path, 0777);
        if (!error) {
            int status = settle(directory, false);
            directory->is_new = true;
            return status;
        }
        if (error != EEXIST && error != OWN_FILE_PLANTED)
            return fail(GAIT_ERR_IO, "cannot make '%s': %s", directory->path, strerror(error));
    }
    return fail(GAIT_ERR_IO, "'%s' and all its numbered variants already exist", directory->path);
}

int run_directory_open(const struct run_request *request, struct run_directory *ret_directory)
{
    struct run_directory directory = {.is_named = request->output != NULL};
    const char *given = request->output;
    if (!given && (given = getenv("GAIT_DIR")) && *given)
        directory.is_joined = true;
    int status;
    if (given && *given) {
        status = settle_named(&directory, given, request->is_append);
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
    if (file_name_join(mark, sizeof mark, path, RUN_MARK_NAME) == 0)
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

int run_directory_try(const struct run_directory *directory)
{
    static const char page[4096]; // a file system may keep less beside the name
    char path[PATH_MAX];
    struct own_file file;
    int status = file_name_join(path, sizeof path, directory->absolute, RUN_MARK_NAME);
    if (!status)
        status = own_file_begin(&file, path);
    if (status)
        return status;
    const ssize_t put = write(file.fd, page, sizeof page);
    if (put != (ssize_t)sizeof page)
        status = fail(GAIT_ERR_IO, "cannot write to '%s': %s", directory->path,
                      strerror(put < 0 ? errno : ENOSPC));
    own_file_drop(&file);
    return status;
}

bool run_directory_remove_unused(const struct run_directory *directory, bool is_named_too)
{
    char path[PATH_MAX];
    bool is_ours = directory->is_new && !directory->is_joined;
    bool is_kept = directory->is_named && !is_named_too;
    if (!is_ours || is_kept || holds_anything(directory->absolute))
        return false;
    if (!file_name_join(path, sizeof path, directory->absolute, RUN_MARK_NAME))
        own_file_remove(path);
    return own_folder_drop(directory->absolute) == 0;
}
