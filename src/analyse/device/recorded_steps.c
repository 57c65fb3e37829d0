// SPDX-License-Identifier: Apache-2.0
#include "analyse/device/recorded_steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/steps/each_step.h"
#include "base/array.h"
#include "base/fail.h"
#include "base/index/hash_index.h"
#include "base/json_reader.h"
#include "load/shard_owner.h"
#include "vocabulary/metadata.h"

enum { MOST_STEPS = 1 << 26, EDGE_NS = 100000 };
#define MOST_NAMES ((size_t)1 << 30)

struct step_search {
    struct recorded_steps *steps;
    const struct gait_trace *trace;
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

int recorded_steps_add_phase(struct recorded_steps *steps, const struct recorded_phase *phase)
{
    const struct array_shape shape = {sizeof *phase, MOST_STEPS};
    const char *name = arena_text(&steps->names, phase->name, strlen(phase->name));
    if (!name)
        return fail(GAIT_ERR_MEMORY, "no memory for the names of phases");
    return array_add((void **)&steps->phases, &steps->phase_count, &steps->phase_capacity,
                     &(struct recorded_phase){phase->shard, name, phase->ns}, shape);
}

// A new one, if there is none yet.
static struct recorded_phase *find_phase(struct step_search *search, uint32_t shard,
                                         const char *name)
{
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
    hash_index_put(&search->phases, at, hash, (uint32_t)steps->phase_count);
    search->status = recorded_steps_add_phase(steps, &(struct recorded_phase){shard, name, 0});
    return search->status ? NULL : &steps->phases[steps->phase_count - 1];
}

static void take_phase(struct step_search *search, const struct gait_event *event, uint32_t shard)
{
    if (!chosen_has(search->steps->chosen, shard, event->start_ns))
        return;
    struct recorded_phase *phase = find_phase(search, shard, event->name);
    if (phase)
        phase->ns += event->duration_ns > 0 ? (uint64_t)event->duration_ns : 0;
}

int recorded_steps_add(struct recorded_steps *steps, const struct gait_trace *trace,
                       const struct step_row *rows, size_t count)
{
    const struct array_shape shape = {sizeof(struct recorded_step), MOST_STEPS};
    int status = GAIT_OK;
    for (size_t i = 0; i < count && !status; i++) {
        struct recorded_step made = {.track = rows[i].track,
                                     .number = rows[i].number,
                                     .step = {.start_ns = rows[i].start_ns}};
        struct gait_track_info track;
        char name[32];
        if (rows[i].duration_ns < 0 || gait_trace_track(trace, made.track, &track) ||
            __builtin_add_overflow(rows[i].start_ns, rows[i].duration_ns, &made.step.end_ns) ||
            made.step.end_ns == INT64_MAX) // which stands for no end
            continue;
        made.shard = track.shard;
        made.has_devices = gait_trace_metadata(trace, made.shard, meta.source) ||
                           has_devices(trace, made.shard, &made.step);
        const int bytes = snprintf(name, sizeof name, "step %" PRIu64, made.number);
        made.step.name = arena_text(&steps->names, name, (size_t)bytes);
        status = made.step.name ? array_add((void **)&steps->rows, &steps->count, &steps->capacity,
                                            &made, shape)
                                : fail(GAIT_ERR_MEMORY, "no memory for the names of steps");
    }
    return status;
}

static void take_step(const struct gait_event *step, uint32_t shard, void *context)
{
    struct step_search *finding = context;
    const struct step_row row = {.start_ns = step->start_ns,
                                 .duration_ns = step->duration_ns,
                                 .number = step->id,
                                 .track = step->track};
    if (!finding->status && step->kind == GAIT_KIND_SPAN)
        take_phase(finding, step, shard);
    else if (!finding->status && step->kind == GAIT_KIND_STEP)
        finding->status = recorded_steps_add(finding->steps, finding->trace, &row, 1);
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

static int by_length(const void *left, const void *right)
{
    const struct recorded_phase *a = left, *b = right;
    if (a->shard != b->shard)
        return a->shard < b->shard ? -1 : 1;
    return a->ns != b->ns ? (a->ns > b->ns ? -1 : 1) : strcmp(a->name, b->name);
}

void recorded_steps_begin(struct recorded_steps *steps, const struct chosen *chosen)
{
    *steps = (struct recorded_steps){.chosen = chosen};
    arena_init(&steps->names, MOST_NAMES);
}

void recorded_steps_settle(struct recorded_steps *steps)
{
    if (steps->count)
        qsort(steps->rows, steps->count, sizeof *steps->rows, by_shard);
    if (steps->phase_count)
        qsort(steps->phases, steps->phase_count, sizeof *steps->phases, by_length);
}

int recorded_steps_find(struct recorded_steps *steps, struct gait_trace *trace,
                        const struct chosen *chosen)
{
    struct step_search finding = {steps, trace, GAIT_OK, {0}};
    recorded_steps_begin(steps, chosen);
    int status = each_recorded_step(trace, true, take_step, &finding);
    hash_index_finish(&finding.phases);
    recorded_steps_settle(steps);
    return status ? status : finding.status;
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
