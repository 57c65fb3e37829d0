// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "ingest/ingest.h"

#include <gait/internal/import.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/file_name.h"
#include "ingest/shard_write.h"
#include "ingest/source.h"

// Each shard tells what the file says of all processes, and can stand alone, while the copies are
// so little. Else the first alone does: 20,000 processes with a name each would take 24 GB.
#define MOST_COPIES ((size_t)16 << 20)

struct ingest {
    const struct ingest_wish *wish;
    struct ingest_result *result;
    struct event_store store;
    struct source_facts facts;
    size_t most_copied; // into a shard behind the first
};

void ingest_name(const char *trace, char *ret_name, size_t room)
{
    static const char *const endings[] = {".gz",  ".json",    ".trace",  ".pt", ".pickle",
                                          ".pkl", ".pftrace", ".sqlite", ".log"};
    snprintf(ret_name, room, "%s", file_name_of(trace));
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        const size_t count = strlen(ret_name), end = strlen(endings[i]);
        if (count > end && !strcmp(ret_name + count - end, endings[i]))
            ret_name[count - end] = '\0';
    }
}

// Of the process that the trace is mostly about.
static int64_t main_pid(const struct ingest *ingest)
{
    for (size_t i = 0; i < ingest->store.track_count; i++)
        if (ingest->store.tracks[i].process == ingest->facts.main_process &&
            !ingest->store.tracks[i].key)
            return ingest->store.tracks[i].os_id;
    return 0;
}

// Another shard of the same name is not written over.
static int shard_path(const struct ingest *ingest, uint32_t track, char ret_path[PATH_MAX])
{
    char name[256];
    const struct ingest_wish *wish = ingest->wish;
    if (wish->file) {
        snprintf(ret_path, PATH_MAX, "%s", wish->file);
        return 0;
    }
    ingest_name(wish->trace, name, sizeof name - 40);
    if (track)
        snprintf(name + strlen(name), 40, ".%u", ingest->result->shards);
    for (int i = 1; i < 10000; i++) {
        if (i == 1)
            snprintf(ret_path, PATH_MAX, "%.3800s/%s.gait", wish->folder, name);
        else
            snprintf(ret_path, PATH_MAX, "%.3800s/%s-%d.gait", wish->folder, name, i);
        if (access(ret_path, F_OK))
            return 0;
    }
    return fail(GAIT_ERR_STATE, "'%s' has shards of that name already", wish->folder);
}

// Of one process's track, number + 1, or of the whole trace.
static int write_shard(struct ingest *ingest, uint32_t track)
{
    char path[PATH_MAX];
    const char *slash = strrchr(ingest->wish->trace, '/');
    struct shard_written written;
    int status = shard_path(ingest, track, path);
    const struct shard_about about = {
        .path = path,
        .reader = ingest->result->source,
        .file = slash ? slash + 1 : ingest->wish->trace,
        .track = track,
        .pid = track ? ingest->store.tracks[track - 1].os_id : main_pid(ingest),
        .rank = ingest->facts.rank,
        .host = ingest->facts.host,
        .base_ns = ingest->facts.base_ns,
        .most_copied = ingest->result->shards ? ingest->most_copied : SIZE_MAX,
        .devices = ingest->wish->devices,
        .repairs = &ingest->result->repairs};
    if (!status)
        status = shard_write(&ingest->store, &about, &written);
    if (status)
        return status;
    ingest->result->shards++;
    ingest->result->shard_bytes += written.bytes;
    ingest->result->events += written.events;
    if (ingest->wish->progress) // 20,000 shards take seconds
        ingest->wish->progress(ingest->wish->progress_context, 0);
    return 0;
}

static int write_shards(struct ingest *ingest)
{
    const struct event_store *store = &ingest->store;
    int status = 0;
    unsigned processes = 0;
    for (uint32_t i = 0; i < store->track_count; i++)
        processes += !store->tracks[i].key && store->tracks[i].has_rows;
    if (ingest->facts.is_one_process || processes < 2 || ingest->wish->devices)
        return write_shard(ingest, 0);
    if (ingest->wish->file)
        return fail(GAIT_ERR_ARGUMENT,
                    "'%s' has %u processes, which take a shard each: name a folder with -o",
                    ingest->wish->trace, processes);
    ingest->most_copied = MOST_COPIES / (processes ? processes : 1);
    for (uint32_t i = 0; i < store->track_count && !status; i++)
        if (!store->tracks[i].key && store->tracks[i].has_rows)
            status = write_shard(ingest, i + 1);
    return status;
}

static int read_trace(struct ingest *ingest)
{
    struct intake intake;
    int status = intake_open(&intake, ingest->wish->trace, &ingest->result->repairs);
    if (status)
        return status;
    intake.progress = ingest->wish->progress;
    intake.progress_context = ingest->wish->progress_context;
    ingest->result->trace_bytes = intake.file_bytes;
    if (!intake_rest(&intake).count) {
        const bool is_damaged = ingest->result->repairs.counts[REPAIR_GZIP];
        intake_close(&intake);
        return fail(GAIT_ERR_FORMAT,
                    is_damaged ? "'%s' is damaged: nothing in it can be unpacked" : "'%s' is empty",
                    ingest->wish->trace);
    }
    const struct source *source = source_find(intake_rest(&intake));
    if (source) {
        ingest->result->source = source->name;
        status = source->read(&intake, &ingest->store, &ingest->facts);
    } else {
        status = fail(GAIT_ERR_FORMAT, "its first bytes are of no trace that gait knows");
    }
    intake_close(&intake);
    return status ? fail_because(status, "cannot import '%s'", ingest->wish->trace) : 0;
}

int ingest_file(const struct ingest_wish *wish, struct ingest_result *ret_result)
{
    struct ingest *ingest = calloc(1, sizeof *ingest);
    *ret_result = (struct ingest_result){.rank = -1};
    if (!ingest)
        return fail(GAIT_ERR_MEMORY, "no memory to import '%s'", wish->trace);
    *ingest = (struct ingest){.wish = wish, .result = ret_result, .facts.rank = -1};
    event_store_init(&ingest->store);
    int status = read_trace(ingest);
    if (!status) {
        status = write_shards(ingest);
        ret_result->is_unwritten = status != 0;
    }
    ret_result->rank = ingest->facts.rank;
    event_store_finish(&ingest->store);
    free(ingest);
    return status;
}

bool ingest_knows(const char *path)
{
    struct repairs repairs = {{0}};
    struct intake intake;
    if (intake_open(&intake, path, &repairs)) {
        fail_clear();
        return false;
    }
    const struct slice rest = intake_rest(&intake);
    const bool is_known = rest.count ? source_find(rest) != NULL : intake.packing != NULL;
    intake_close(&intake);
    return is_known;
}

// --- for the Python package -----------------------------------------------------------

int gait_import_devices(const struct gait_device_import *import, uint64_t *ret_events)
{
    if (!import || import->size != sizeof *import || !import->trace || !import->shard ||
        !import->owner || !ret_events)
        return fail(GAIT_ERR_ARGUMENT, "import needs a trace, a shard and an owner, and its size "
                                       "must be sizeof *import");
    const struct ingest_devices devices = {.owner = import->owner,
                                           .pid = import->pid,
                                           .rank = import->rank,
                                           .since_ns = import->since_ns,
                                           .until_ns = import->until_ns};
    const struct ingest_wish wish = {
        .trace = import->trace, .file = import->shard, .devices = &devices};
    struct ingest_result result;
    const int status = ingest_file(&wish, &result);
    if (!status)
        *ret_events = result.events;
    return status;
}
