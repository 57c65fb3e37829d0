// SPDX-License-Identifier: Apache-2.0
// The mark in a run's folder was written when the run began; the folder's own time
// changes with every command that reads it.
#define _GNU_SOURCE
#include "cli/io/newest_run.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <gait/trace.h>

#include "base/fail.h"
#include "launch/run_finish.h"
#include "launch/run_mark.h"
#include "launch/say.h"
#include "vocabulary/meters.h"

struct run_here {
    char name[NAME_MAX + 1]; // "": none
    struct timespec began;
};

static bool is_later(const struct run_here *one, const struct run_here *other)
{
    if (!*other->name || one->began.tv_sec != other->began.tv_sec)
        return !*other->name || one->began.tv_sec > other->began.tv_sec;
    if (one->began.tv_nsec != other->began.tv_nsec)
        return one->began.tv_nsec > other->began.tv_nsec;
    return strcmp(one->name, other->name) > 0;
}

// The last that began before `bound`.
static struct run_here find_before(const struct run_here *bound)
{
    struct run_here newest = {.name = ""}, at;
    DIR *here = opendir(".");
    const struct dirent *entry;
    while (here && (entry = readdir(here))) {
        char mark[sizeof at.name + sizeof RUN_MARK_NAME + 1];
        struct stat about;
        snprintf(at.name, sizeof at.name, "%s", entry->d_name);
        snprintf(mark, sizeof mark, "%s/" RUN_MARK_NAME, at.name);
        if (!strcmp(at.name, "..") || stat(mark, &about) || !S_ISREG(about.st_mode))
            continue;
        at.began = about.st_mtim;
        if (is_later(&at, &newest) && (!*bound->name || is_later(bound, &at)))
            newest = at;
    }
    if (here)
        closedir(here);
    return newest;
}

// Readings of the machine are there also where the program recorded nothing.
static bool is_empty(const char *path)
{
    struct gait_trace *trace;
    uint64_t records = 0;
    const int status = run_finish_and_open(path, &trace);
    if (status) {
        fail_clear(); // what cannot be read is worth a complaint
        return status == GAIT_ERR_MISSING;
    }
    for (uint32_t i = 0; !records && i < gait_trace_shard_count(trace); i++) {
        struct gait_shard_info shard;
        if (!gait_trace_shard(trace, i, &shard) && strcmp(shard.role, METER_ROLE) != 0)
            records = shard.events | shard.dropped;
    }
    records |= gait_trace_damage_count(trace);
    gait_trace_close(trace);
    return !records;
}

const char *newest_run_or(const struct operands *operands, char *out, size_t room)
{
    if (operands->count)
        return operands->texts[0];
    const struct run_here newest = find_before(&(struct run_here){.name = ""});
    struct run_here found = newest;
    while (*found.name && is_empty(found.name))
        found = find_before(&found);
    if (!*newest.name) {
        (void)fail(GAIT_ERR_MISSING,
                   "this folder contains no run of 'gait run': name a run directory or a shard");
        return NULL;
    }
    if (!*found.name)
        found = newest; // its answer says what to do
    if (strcmp(found.name, newest.name) != 0)
        say("the newest run here is '%s'; '%s' is newer, but nothing is recorded in it", found.name,
            newest.name);
    else
        say("the newest run here is '%s'", found.name);
    snprintf(out, room, "%s", found.name);
    return out;
}
