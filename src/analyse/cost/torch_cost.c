// SPDX-License-Identifier: Apache-2.0
// Costs are written by whoever measured them: the collector of ops, the hooks.
#include "analyse/cost/torch_cost.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/memory/memory_life.h"
#include "analyse/report/torch_report.h"
#include "base/arena.h"
#include "base/json_reader.h"
#include "vocabulary/metadata.h"

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

static uint64_t resident_peak(const struct gait_trace *trace)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++) {
        const char *json = gait_trace_metadata(trace, i, meta.memory_peak);
        const double bytes = fmin(json_member_count(json, "rss_bytes"), most_count);
        if (bytes > (double)most)
            most = (uint64_t)bytes;
    }
    return most;
}

int torch_memory_find(struct torch_memory *memory, struct gait_trace *trace)
{
    struct memory_life life;
    *memory = (struct torch_memory){.rss_bytes = resident_peak(trace)};
    int status = memory_life_peaks(&life, trace);
    const struct memory_device *device = status ? NULL : memory_life_fullest(&life);
    if (device && device->peak_bytes > 0) {
        memory->peak_bytes = device->peak_bytes;
        memory->before_bytes = device->before_bytes;
        memory->peak_ns = device->peak_ns;
        memory->start_ns = device->recording_start_ns;
        memory->end_ns = device->recording_end_ns;
        memory->shard = device->shard_number;
        snprintf(memory->device, sizeof memory->device, "%s", device->name);
    }
    if (!status)
        memory_life_finish(&life);
    return status;
}

const char *torch_cost_text(const char *json, struct arena *arena)
{
    const size_t bytes = json ? strlen(json) : 0;
    if (bytes < 3 || json[0] != '"' || json[bytes - 1] != '"' || strchr(json, '\\'))
        return NULL;
    return arena_text(arena, json + 1, bytes - 2);
}
