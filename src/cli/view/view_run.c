// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "cli/view/view_run.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include <gait/trace.h>

#include "base/clock.h"
#include "cli/trace/trace_door.h"

enum { LOOK_EACH_MS = 1000 };

static uint64_t mix(uint64_t sum, uint64_t value)
{
    return (sum ^ value) * UINT64_C(0x9e3779b97f4a7c15) + (sum >> 29);
}

static uint64_t version_of_file(uint64_t sum, const char *path)
{
    struct stat about;
    if (stat(path, &about))
        return mix(sum, 0);
    sum = mix(sum, (uint64_t)about.st_ino);
    sum = mix(sum, (uint64_t)about.st_size);
    return mix(mix(sum, (uint64_t)about.st_mtim.tv_sec), (uint64_t)about.st_mtim.tv_nsec);
}

// Of a folder: that of all that lies in it, in whichever order. A run's folder is flat but
// for what belongs to single processes.
static uint64_t version_of(const char *path)
{
    uint64_t sum = version_of_file(0, path);
    DIR *entries = opendir(path);
    const struct dirent *entry;
    while (entries && (entry = readdir(entries))) {
        char name[PATH_MAX];
        if (entry->d_name[0] != '.' &&
            snprintf(name, sizeof name, "%s/%s", path, entry->d_name) < (int)sizeof name)
            sum += version_of_file(1, name);
    }
    if (entries)
        closedir(entries);
    return sum;
}

static int64_t now_ms(void)
{
    return (int64_t)(clock_steady_ns() / 1000000);
}

int view_run_open(struct view_run *run, const char *path, bool is_uncached)
{
    *run = (struct view_run){.path = path,
                             .is_uncached = is_uncached,
                             .version = version_of(path),
                             .looked_ms = now_ms()};
    return trace_door_open(path, is_uncached, &run->trace);
}

int view_run_refresh(struct view_run *run)
{
    if (run->trace && now_ms() - run->looked_ms < LOOK_EACH_MS)
        return GAIT_OK;
    const uint64_t version = version_of(run->path);
    run->looked_ms = now_ms();
    if (run->trace && version == run->version)
        return GAIT_OK;
    view_run_close(run);
    run->version = version;
    return trace_door_open(run->path, run->is_uncached, &run->trace);
}

void view_run_close(struct view_run *run)
{
    gait_trace_close(run->trace);
    run->trace = NULL;
}
