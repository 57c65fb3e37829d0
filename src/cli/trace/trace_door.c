// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "cli/trace/trace_door.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include <gait/trace.h>

#include "base/fail.h"
#include "base/own_file.h"
#include "base/slice.h"
#include "base/units.h"
#include "cli/trace/trace_cache.h"
#include "launch/run_finish.h"
#include "launch/say.h"

enum { MOST_LOOKS = 1000 }; // into the files of a folder, for one that is a trace

// What a folder holds: shards, also in a folder below, make it a run of ours.
struct look {
    bool has_shards, has_traces;
    unsigned looks;
};

static void look_into(const char *folder, bool is_top, struct look *look)
{
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    while (entries && !look->has_shards && (entry = readdir(entries))) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%.3800s/%.255s", folder, entry->d_name);
        if (slice_ends_with(slice_of(entry->d_name), ".gait"))
            look->has_shards = true;
        else if (entry->d_name[0] == '.' || look->looks++ > MOST_LOOKS)
            continue;
        else if (own_folder_is_there(path) && is_top)
            look_into(path, false, look);
        else if (is_top && !look->has_traces)
            look->has_traces = ingest_knows(path);
    }
    if (entries)
        closedir(entries);
}

static bool is_foreign(const char *path)
{
    struct look look = {.looks = 0};
    if (slice_ends_with(slice_of(path), ".gait"))
        return false;
    if (!own_folder_is_there(path))
        return ingest_knows(path);
    look_into(path, true, &look);
    return look.has_traces && !look.has_shards;
}

// Said when a trace is imported, and not again. Profilers write numbers as texts, too: no news.
static void say_repaired(const struct trace_import *import)
{
    const struct repairs all = trace_import_repairs(import);
    for (int i = 0; i < REPAIR_COUNT; i++)
        if (all.counts[i] && i != REPAIR_TEXT_ID)
            say("repaired: %s: %s", repair_words((enum repair)i), units_count(all.counts[i]).text);
}

static int fill(struct trace_import *import, const char *folder)
{
    int status = trace_import_write(import, folder);
    if (import->count > 1 && !import->is_unwritten) // else it is what the answer fails with
        trace_import_say_skipped(import);
    if (status && !access(folder, F_OK) && !own_folder_is_empty(folder)) {
        fail_clear(); // another process was faster
        return 0;
    }
    if (status)
        return status;
    say_repaired(import);
    return 0;
}

// A cache that is full, or that nobody may write to, does not take the answer away.
static int fill_elsewhere(struct trace_import *import, char folder[PATH_MAX])
{
    say("%s; the trace is imported for this time only", fail_text());
    fail_clear();
    const int status = trace_cache_temporary(folder);
    return status ? status : fill(import, folder);
}

static int find_folder(struct trace_import *import, bool *is_uncached, char folder[PATH_MAX])
{
    if (!*is_uncached && !trace_cache_find(import, folder))
        return 0;
    if (!*is_uncached)
        say("%s; the trace is imported for this time only", fail_text());
    *is_uncached = true;
    return trace_cache_temporary(folder);
}

static int open_foreign(const char *path, bool is_uncached, struct gait_trace **ret_trace)
{
    char folder[PATH_MAX];
    char name[PATH_MAX];
    char *const names[] = {name};
    struct trace_import import;
    snprintf(name, sizeof name, "%s", path);
    int status = trace_import_find(&import, names, 1);
    if (!status)
        status = find_folder(&import, &is_uncached, folder);
    if (!status && (is_uncached || access(folder, F_OK)))
        status = fill(&import, folder);
    if (status && !is_uncached && import.is_unwritten) {
        is_uncached = true;
        status = fill_elsewhere(&import, folder);
    }
    if (!status && !is_uncached)
        trace_cache_tidy(folder);
    trace_import_finish(&import);
    return status ? status : gait_trace_open(folder, ret_trace);
}

// A folder that is no run may be meant as one of traces.
static int open_run(const char *path, struct gait_trace **ret_trace)
{
    const int status = run_finish_and_open(path, ret_trace);
    if (status == GAIT_ERR_MISSING && own_folder_is_there(path) &&
        slice_ends_with(slice_of(fail_text()), "holds no *.gait file"))
        return fail(status, "'%s' holds no *.gait file and no trace of another tool", path);
    return status;
}

int trace_door_open(const char *path, bool is_uncached, struct gait_trace **ret_trace)
{
    return is_foreign(path) ? open_foreign(path, is_uncached, ret_trace)
                            : open_run(path, ret_trace);
}
