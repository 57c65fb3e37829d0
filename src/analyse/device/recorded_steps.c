// SPDX-License-Identifier: Apache-2.0
#include "analyse/device/recorded_steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/report/torch_report.h"
#include "analyse/steps/each_step.h"
#include "base/array.h"
#include "base/fail.h"
#include "base/index/hash_index.h"
#include "base/json_reader.h"
#include "load/shard_owner.h"
#include "load/site_role.h"
#include "vocabulary/metadata.h"

enum { MOST_STEPS = 1 << 26, EDGE_NS = 100000 };
#define MOST_NAMES ((size_t)1 << 30)

struct step_search {
    struct recorded_steps *steps;
    const struct gait_trace *trace;
    bool only_devices;
    int status;
    struct hash_index phases; // by shard and name
};

static int64_t earlier(int64_t at_ns)
{
    return at_ns < INT64_MIN + EDGE_NS ? INT64_MIN : at_ns - EDGE_NS;
}

// Whether devices were on record for all of the step. The window's edges were read off another
// clock than the step's, some microseconds before or behind them.
static bool has_devices(const struct gait_trace *trace, uint32_t shard,
                        const struct device_step *step)
{
    const struct run *run = &trace->run;
    for (uint32_t i = shard_owned_first(run, shard); i != RUN_NO_SHARD;
         i = shard_owned_next(run, i)) {
        const char *until = gait_trace_metadata(trace, i, meta.devices_until_ns);
        const int64_t since_ns = run->shards[i]->info.start_ns,
                      until_ns = json_integer(until, INT64_MIN);
        if (step->start_ns >= earlier(since_ns) && until_ns > INT64_MIN &&
            earlier(step->end_ns) <= until_ns)
            return true;
    }
    return false;
}

// A new one, if there is none yet.
static struct recorded_phase *find_phase(struct step_search *search, uint32_t shard,
                                         const char *name)
{
    const struct array_shape shape = {sizeof(struct recorded_phase), MOST_STEPS};
    struct recorded_steps *steps = search->steps;
    const uint32_t hash = (uint32_t)hash_mix(shard, hash_bytes(slice_of(name)));
    search->status = hash_index_reserve(&search->phases, 64);
    if (search->status)
        return NULL;
    size_t at = hash_index_first(&search->phases, hash);
    for (; search->phases.places[at].row; at = hash_index_next(&search->phases, at)) {
        struct recorded_phase *row = &steps->phases[search->phases.places[at].row - 1];
        if (row->shard == shard && !strcmp(row->name, name))
            return row;
    }
    const struct recorded_phase row = {shard, arena_text(&steps->names, name, strlen(name)), 0};
    search->status = row.name ? array_reserve((void **)&steps->phases, &steps->phase_capacity,
                                              steps->phase_count + 1, shape)
                              : fail(GAIT_ERR_MEMORY, "no memory for the names of phases");
    if (search->status)
        return NULL;
    hash_index_put(&search->phases, at, hash, (uint32_t)steps->phase_count);
    steps->phases[steps->phase_count] = row;
    return &steps->phases[steps->phase_count++];
}

static void take_phase(struct step_search *search, const struct gait_event *event, uint32_t shard)
{
    if (!chosen_has(search->steps->chosen, shard, event->start_ns))
        return;
    struct recorded_phase *phase = find_phase(search, shard, event->name);
    if (phase)
        phase->ns += event->duration_ns > 0 ? (uint64_t)event->duration_ns : 0;
}

static void take_step(const struct gait_event *step, uint32_t shard, void *context)
{
    const struct array_shape shape = {sizeof(struct recorded_step), MOST_STEPS};
    struct step_search *finding = context;
    struct recorded_steps *steps = finding->steps;
    struct recorded_step row = {.shard = shard,
                                .track = step->track,
                                .number = step->id,
                                .step = {.start_ns = step->start_ns}};
    char name[32];
    if (!finding->status && step->kind == GAIT_KIND_SPAN)
        take_phase(finding, step, shard);
    if (finding->status || step->kind != GAIT_KIND_STEP || step->duration_ns < 0 ||
        __builtin_add_overflow(step->start_ns, step->duration_ns, &row.step.end_ns) ||
        row.step.end_ns == INT64_MAX) // which stands for no end
        return;
    row.has_devices = gait_trace_metadata(finding->trace, shard, meta.source) ||
                      has_devices(finding->trace, shard, &row.step);
    if (finding->only_devices && !row.has_devices)
        return;
    const int bytes = snprintf(name, sizeof name, "step %" PRIu64, step->id);
    row.step.name = arena_text(&steps->names, name, (size_t)bytes);
    finding->status = row.step.name ? array_reserve((void **)&steps->rows, &steps->capacity,
                                                    steps->count + 1, shape)
                                    : fail(GAIT_ERR_MEMORY, "no memory for the names of steps");
    if (!finding->status)
        steps->rows[steps->count++] = row;
}

static int by_shard(const void *left, const void *right)
{
    const struct recorded_step *a = left, *b = right;
    if (a->shard != b->shard)
        return a->shard < b->shard ? -1 : 1;
    if (a->step.start_ns != b->step.start_ns)
        return a->step.start_ns < b->step.start_ns ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

int recorded_steps_find(struct recorded_steps *steps, struct gait_trace *trace, bool only_devices,
                        const struct chosen *chosen)
{
    struct step_search finding = {steps, trace, only_devices, GAIT_OK, {0}};
    bool is_any = !only_devices ||
                  (torch_report_is_imported(trace) && !site_role_any(trace, ROLE_BIT(ROLE_STEP)));
    *steps = (struct recorded_steps){.chosen = chosen};
    arena_init(&steps->names, MOST_NAMES);
    for (uint32_t i = 0; i < trace->run.shard_count; i++)
        is_any = is_any || shard_owner(trace, i) != i;
    int status = is_any ? each_recorded_step(trace, !only_devices, take_step, &finding) : GAIT_OK;
    hash_index_finish(&finding.phases);
    if (!status)
        status = finding.status;
    if (!status && steps->count)
        qsort(steps->rows, steps->count, sizeof *steps->rows, by_shard);
    return status;
}

const struct recorded_step *recorded_steps_of(const struct recorded_steps *steps, uint32_t shard,
                                              size_t *ret_count)
{
    size_t low = 0, high = steps->count, end;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (steps->rows[middle].shard < shard)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < steps->count && steps->rows[end].shard == shard;)
        end++;
    *ret_count = end - low;
    return end > low ? &steps->rows[low] : NULL;
}

void recorded_steps_finish(struct recorded_steps *steps)
{
    free(steps->rows);
    free(steps->phases);
    arena_finish(&steps->names);
    *steps = (struct recorded_steps){.count = 0};
}
