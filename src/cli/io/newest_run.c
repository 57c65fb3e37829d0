// SPDX-License-Identifier: Apache-2.0
// The mark in a run's folder was written when the run began; the folder's own time
// changes with every command that reads it.
#define _GNU_SOURCE
#include "cli/io/newest_run.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fail.h"
#include "launch/run_mark.h"

static bool is_later(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec != other->tv_sec ? one->tv_sec > other->tv_sec
                                        : one->tv_nsec > other->tv_nsec;
}

int newest_run_find(char out[PATH_MAX])
{
    struct timespec newest = {.tv_sec = 0};
    bool is_any = false;
    DIR *here = opendir(".");
    const struct dirent *entry;
    while (here && (entry = readdir(here))) {
        char mark[PATH_MAX];
        struct stat about;
        bool is_above = !strcmp(entry->d_name, "..");
        snprintf(mark, sizeof mark, "%s/" RUN_MARK_NAME, entry->d_name);
        if (is_above || stat(mark, &about) || !S_ISREG(about.st_mode))
            continue;
        if (is_any && !is_later(&about.st_mtim, &newest))
            continue;
        newest = about.st_mtim;
        snprintf(out, PATH_MAX, "%s", entry->d_name);
        is_any = true;
    }
    if (here)
        closedir(here);
    return is_any
               ? GAIT_OK
               : fail(GAIT_ERR_MISSING,
                      "this folder contains no run of 'gait run': name a run directory or a shard");
}
