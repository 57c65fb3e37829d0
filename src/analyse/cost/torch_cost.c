// SPDX-License-Identifier: Apache-2.0
// Costs are written by whoever measured them: the collector of ops, the hooks.
#include "analyse/cost/torch_cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/report/torch_report.h"
#include "base/arena.h"
#include "base/json_reader.h"
#include "vocabulary/metadata.h"

#define MOST_EVENTS 5000000             // memory events whose owners are looked for: a second
static const double most_cost_ns = 1e9; // of one event; more is nonsense
static const double most_count = 1e18;

struct cost_key {
    const char *key;
    unsigned kind;   // in inventory_shard.events
    bool is_of_step; // steps in windows show it better
};

static const struct cost_key keys[] = {
    {"cpu_op", ROLE_OP, true},
    {"user_annotation", ROLE_ANNOTATION, false},
    {"user_annotation", ROLE_STEP, false},
    {"phase", ROLE_PHASE, false},
    {"memory", ROLE_MEMORY, true},
    {"window", ROLE_WINDOW, false},
    {"loader", ROLE_FETCH, false},
    {"loader", ROLE_COLLATE, false},
};

enum { KEYS = sizeof keys / sizeof keys[0] };

// By its own process.
static bool find_cost(const struct gait_trace *trace, uint32_t shard, const char *key,
                      double *ret_ns)
{
    double each;
    if (!json_member_real(gait_trace_metadata(trace, shard, meta.cost_ns), key, &each) &&
        !json_member_real(gait_trace_metadata(trace, shard, meta.cost_ns_hooks), key, &each))
        return false;
    if (!(each >= 0 && each <= most_cost_ns))
        return false;
    *ret_ns = each;
    return true;
}

// A process that ended before it had measured (a worker of a loader, one that was killed
// early) is told by the dearest of the others.
static bool find_cost_elsewhere(const struct gait_trace *trace, const struct inventory *survey,
                                const char *key, double *ret_ns)
{
    bool is_found = false;
    for (uint32_t i = 0; i < survey->shard_count; i++) {
        double each;
        if (!find_cost(trace, i, key, &each) || (is_found && each <= *ret_ns))
            continue;
        *ret_ns = each;
        is_found = true;
    }
    return is_found;
}

static void add_costs(struct torch_report *torch, const struct gait_trace *trace, uint32_t shard,
                      bool is_compared)
{
    const uint64_t *events = torch->survey.shards[shard].events;
    for (size_t i = 0; i < KEYS; i++) {
        double each;
        if ((keys[i].is_of_step && is_compared) || !events[keys[i].kind])
            continue;
        if (!find_cost(trace, shard, keys[i].key, &each) &&
            !find_cost_elsewhere(trace, &torch->survey, keys[i].key, &each)) {
            torch->cost.is_unmeasured = true;
            continue;
        }
        torch->cost.is_known = true;
        torch->cost.hooks_ns += (uint64_t)(each * (double)events[keys[i].kind]);
    }
}

// Whether the steps of that process show what its windows cost; adds that, for all
// steps in windows: of long ones few are clocked.
static bool add_windows(struct torch_report *torch, uint32_t shard)
{
    for (size_t i = 0; i < torch->rank_count; i++) {
        const struct torch_rank *rank = &torch->ranks[i];
        if (torch->survey.shard_of[rank->track] != shard || !rank->windows.is_known)
            continue;
        const uint64_t clocked = rank->windows.inside;
        const uint64_t steps = rank->recorded > clocked ? rank->recorded : clocked;
        torch->cost.hooks_ns += rank->windows.each_ns * steps;
        torch->cost.is_known = true;
        return true;
    }
    return false;
}

// The schedule clocks each step of the thread that makes them.
static void add_clock(struct torch_report *torch, uint32_t shard, const struct gait_trace *trace)
{
    double each;
    for (size_t i = 0; i < torch->rank_count; i++) {
        const struct window_cost *windows = &torch->ranks[i].windows;
        if (torch->survey.shard_of[torch->ranks[i].track] == shard &&
            find_cost(trace, shard, "step", &each))
            torch->cost.hooks_ns += (uint64_t)(each * (double)(windows->inside + windows->outside));
    }
}

void torch_cost_find(struct torch_report *torch, const struct gait_trace *trace)
{
    torch->cost = (struct torch_cost){.is_known = false};
    for (uint32_t i = 0; i < torch->survey.shard_count; i++) {
        if (torch->survey.shards[i].is_imported)
            continue; // gait cost it nothing
        const char *devices = gait_trace_metadata(trace, i, meta.devices);
        torch->cost.devices_ns += (uint64_t)fmin(json_member_count(devices, "ns"), most_count);
        torch->cost.device_windows +=
            (uint64_t)fmin(json_member_count(devices, "windows"), most_count);
        add_costs(torch, trace, i, add_windows(torch, i));
        add_clock(torch, i, trace);
    }
    // a part of it would be taken for all
    torch->cost.is_known &= !torch->cost.is_unmeasured;
}

void torch_lost_find(struct torch_report *torch, const struct gait_trace *trace)
{
    torch->lost = (struct torch_lost){.shapes = 0};
    for (uint32_t i = 0; i < torch->survey.shard_count; i++) {
        const char *json = gait_trace_metadata(trace, i, meta.ops_lost);
        torch->lost.shapes += (uint64_t)fmin(json_member_count(json, "shapes"), most_count);
        torch->lost.blocks += (uint64_t)fmin(json_member_count(json, "blocks"), most_count);
    }
}

struct peak {
    struct torch_memory_peak found;
    uint32_t shard;
};

static int begin_peak(void *part, const struct pass_shard *shard, void *answer)
{
    (void)answer;
    ((struct peak *)part)->shard = shard->shard;
    return GAIT_OK;
}

static int take_peak(void *part, const struct gait_batch *batch)
{
    struct torch_memory_peak *found = &((struct peak *)part)->found;
    found->events += batch->rows;
    for (size_t i = 0; i < batch->rows; i++) {
        const int64_t total = batch->total[i];
        const bool is_earlier =
            total > 0 && (uint64_t)total == found->bytes && batch->start_ns[i] < found->at_ns;
        if (total <= 0 || (!is_earlier && (uint64_t)total <= found->bytes))
            continue;
        found->bytes = (uint64_t)total;
        found->at_ns = batch->start_ns[i];
    }
    return GAIT_OK;
}

static int merge_peak(void *answer, void *part)
{
    struct torch_memory_peak *all = answer;
    const struct torch_memory_peak *one = &((const struct peak *)part)->found;
    all->events += one->events;
    if (one->bytes < all->bytes || (one->bytes == all->bytes && one->at_ns >= all->at_ns))
        return GAIT_OK;
    all->bytes = one->bytes;
    all->at_ns = one->at_ns;
    all->shard = ((const struct peak *)part)->shard;
    return GAIT_OK;
}

const struct analysis torch_memory_analysis = {
    .name = "torch memory",
    .kinds = 1u << GAIT_KIND_MEMORY,
    .columns = GAIT_COLUMN_START | GAIT_COLUMN_TOTAL,
    .part_bytes = sizeof(struct peak),
    .begin = begin_peak,
    .rows = take_peak,
    .merge = merge_peak,
};

void torch_memory_find(struct torch_memory *memory, const struct gait_trace *trace,
                       const struct torch_memory_peak *peak)
{
    *memory = (struct torch_memory){.rss_bytes = 0};
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++) {
        const char *json = gait_trace_metadata(trace, i, meta.memory_peak);
        const double bytes = fmin(json_member_count(json, "rss_bytes"), most_count);
        if (bytes > (double)memory->rss_bytes)
            memory->rss_bytes = (uint64_t)bytes;
    }
    if (peak->events >= MOST_EVENTS)
        return; // too many to walk through: whose they are is not known
    memory->window_bytes = peak->bytes;
    memory->window_peak_ns = peak->at_ns;
    memory->shard = peak->shard;
}

const char *torch_cost_text(const char *json, struct arena *arena)
{
    const size_t bytes = json ? strlen(json) : 0;
    if (bytes < 3 || json[0] != '"' || json[bytes - 1] != '"' || strchr(json, '\\'))
        return NULL;
    return arena_text(arena, json + 1, bytes - 2);
}
