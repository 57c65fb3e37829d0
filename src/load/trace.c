// SPDX-License-Identifier: Apache-2.0
// The public look at a trace (include/gait/trace.h), save for its events:
// cursor.c and scan.c serve those.
#include <gait/trace.h>

#include <stdlib.h>

#include "base/fail.h"
#include "load/run.h"
#include "load/sized.h"

int gait_trace_open(const char *path, struct gait_trace **ret_trace)
{
    struct gait_trace *trace;

    GAIT_REQUIRE(path);
    GAIT_REQUIRE(ret_trace);
    trace = malloc(sizeof(*trace));
    if (!trace)
        return fail(GAIT_ERR_MEMORY, "no memory to open '%s'", path);
    int status = run_open(&trace->run, path);
    if (status) {
        free(trace);
        return status;
    }
    *ret_trace = trace;
    return 0;
}

void gait_trace_close(struct gait_trace *trace)
{
    if (!trace)
        return;
    run_close(&trace->run);
    free(trace);
}

const char *gait_trace_error(void)
{
    return fail_text();
}

// What is counted and noted may still change while a trace is read: damage is
// found late in a large one. To callers it is constant all the same.
static struct run *run_of(const struct gait_trace *trace)
{
    return &((struct gait_trace *)(uintptr_t)trace)->run;
}

static int fail_past_end(const char *what, uint32_t index)
{
    return fail(GAIT_ERR_MISSING, "%s %u does not exist", what, index);
}

uint32_t gait_trace_shard_count(const struct gait_trace *trace)
{
    return trace ? trace->run.shard_count : 0;
}

int gait_trace_shard_sized(const struct gait_trace *trace, uint32_t index,
                           struct gait_shard_info *ret_info, size_t size)
{
    GAIT_REQUIRE(trace);
    GAIT_REQUIRE(ret_info);
    if (index >= trace->run.shard_count)
        return fail_past_end("shard", index);
    int status = run_recount(run_of(trace));
    if (!status)
        sized_give(ret_info, size, &trace->run.shards[index]->info,
                   sizeof(trace->run.shards[index]->info));
    return status;
}

uint32_t gait_trace_track_count(const struct gait_trace *trace)
{
    return trace ? (uint32_t)trace->run.tracks.count : 0;
}

int gait_trace_track_sized(const struct gait_trace *trace, uint32_t index,
                           struct gait_track_info *ret_info, size_t size)
{
    GAIT_REQUIRE(trace);
    GAIT_REQUIRE(ret_info);
    if (index >= trace->run.tracks.count)
        return fail_past_end("track", index);
    int status = run_recount(run_of(trace));
    if (!status)
        sized_give(ret_info, size, &trace->run.tracks.tracks[index].info,
                   sizeof(trace->run.tracks.tracks[index].info));
    return status;
}

uint32_t gait_trace_damage_count(const struct gait_trace *trace)
{
    if (!trace)
        return 0;
    // for want of memory the list stays as it is, and is completed next time
    if (run_verify(run_of(trace)))
        fail_clear();
    return (uint32_t)trace->run.damage.count;
}

int gait_trace_damage_sized(const struct gait_trace *trace, uint32_t index,
                            struct gait_damage_info *ret_info, size_t size)
{
    GAIT_REQUIRE(trace);
    GAIT_REQUIRE(ret_info);
    if (index >= trace->run.damage.count)
        return fail_past_end("damage", index);
    const struct damage_range *range = &trace->run.damage.ranges[index];
    const struct gait_damage_info info = {
        .path = range->path, .offset = range->offset, .bytes = range->bytes, .what = range->what};
    sized_give(ret_info, size, &info, sizeof(info));
    return 0;
}

const char *gait_trace_metadata(const struct gait_trace *trace, uint32_t shard, const char *key)
{
    if (!trace || !key || shard >= trace->run.shard_count)
        return NULL;
    return dictionary_meta(&trace->run.shards[shard]->dictionary, key);
}

const char *gait_trace_metadata_key(const struct gait_trace *trace, uint32_t shard, uint32_t index)
{
    if (!trace || shard >= trace->run.shard_count)
        return NULL;
    const struct dictionary *dictionary = &trace->run.shards[shard]->dictionary;
    return index < dictionary->meta_count ? dictionary->meta[index].key : NULL;
}

uint32_t gait_trace_site_count(const struct gait_trace *trace)
{
    return trace ? (uint32_t)trace->run.sites.count : 0;
}

int gait_trace_site_sized(const struct gait_trace *trace, uint32_t site,
                          struct gait_site_info *ret_info, size_t size)
{
    GAIT_REQUIRE(trace);
    GAIT_REQUIRE(ret_info);
    if (site >= trace->run.sites.count)
        return fail_past_end("site", site);
    sized_give(ret_info, size, &trace->run.sites.sites[site], sizeof(trace->run.sites.sites[site]));
    return 0;
}
