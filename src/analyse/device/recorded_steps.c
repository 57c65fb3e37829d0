// SPDX-License-Identifier: Apache-2.0
#include "analyse/device/recorded_steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/job/torch_ranks.h"
#include "base/array.h"
#include "base/fail.h"
#include "base/json_reader.h"
#include "facts/facts.h"
#include "facts/facts_file.h"
#include "load/order/event_feed.h"
#include "load/shard_owner.h"
#include "vocabulary/metadata.h"

enum { MOST_STEPS = 1 << 26, EDGE_NS = 100000 };
#define MOST_NAMES ((size_t)1 << 30)

struct step_search {
    struct recorded_steps *steps;
    const struct gait_trace *trace;
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

int recorded_steps_add(struct recorded_steps *steps, const struct gait_trace *trace,
                       const struct step_row *rows, size_t count)
{
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
        status = made.step.name
                     ? ARRAY_ADD(steps->rows, steps->count, steps->capacity, MOST_STEPS, &made)
                     : fail(GAIT_ERR_MEMORY, "no memory for the names of steps");
    }
    return status;
}

static int add_phase(struct recorded_steps *steps, uint32_t shard, const char *name, uint64_t ns)
{
    const struct recorded_phase phase = {shard, name, ns};
    return ARRAY_ADD(steps->phases, steps->phase_count, steps->phase_capacity, MOST_STEPS, &phase);
}

// A phase counts with the step that it is of.
static int add_phases(struct recorded_steps *steps, uint32_t shard, const struct rank_steps *rank,
                      const struct torch_phases *phases)
{
    uint64_t ns[TORCH_MOST_PHASES] = {0};
    int status = GAIT_OK;
    for (size_t i = 0; i < rank->rank.steps; i++) {
        if (!chosen_has(steps->chosen, shard, rank->rows[i].start_ns))
            continue;
        for (size_t k = rank->first_share[i]; k < rank->first_share[i + 1]; k++)
            ns[rank->shares[k].phase] += rank->shares[k].ns;
    }
    for (unsigned i = 0; i < phases->count && !status; i++)
        if (ns[i])
            status = add_phase(steps, shard, phases->names[i], ns[i]);
    return status;
}

int recorded_steps_add_ranks(struct recorded_steps *steps, const struct gait_trace *trace,
                             const struct torch_ranks *ranks)
{
    const bool has_steps = torch_report_finds_steps(trace);
    int status = GAIT_OK;
    for (size_t i = 0; i < ranks->count && !status; i++) {
        const struct rank_steps *rank = &ranks->rows[i];
        const uint32_t shard = ranks->survey->shard_of[rank->rank.track];
        if (has_steps && !rank->rank.is_marked)
            status = recorded_steps_add(steps, trace, rank->rows, rank->rank.steps);
        if (!status)
            status = add_phases(steps, shard, rank, ranks->survey->phases);
    }
    return status;
}

static int take_step(void *context, const struct gait_event *step)
{
    const struct step_search *finding = context;
    const struct step_row row = {.start_ns = step->start_ns,
                                 .duration_ns = step->duration_ns,
                                 .number = step->id,
                                 .track = step->track};
    return recorded_steps_add(finding->steps, finding->trace, &row, 1);
}

static int find_ranks(struct recorded_steps *steps, struct gait_trace *trace,
                      const struct fact_ask *asks, size_t count)
{
    const struct torch_ranks_wish wish = {trace, asks, count};
    struct torch_phases phases = {.count = 0};
    struct inventory survey = {.phases = NULL};
    struct torch_ranks ranks = {.keeps_pieces = false};
    int status = torch_ranks_read(&ranks, &survey, &phases, &wish);
    if (!status)
        status = recorded_steps_add_ranks(steps, trace, &ranks);
    torch_ranks_finish(&ranks);
    inventory_finish(&survey);
    torch_phases_finish(&phases);
    return status;
}

static int by_shard(const void *left, const void *right)
{
    const struct recorded_step *a = left, *b = right;
    RETURN_IF_APART(a->shard, b->shard);
    RETURN_IF_APART(a->step.start_ns, b->step.start_ns);
    return a->number < b->number ? -1 : a->number > b->number;
}

static int by_length(const void *left, const void *right)
{
    const struct recorded_phase *a = left, *b = right;
    RETURN_IF_APART(a->shard, b->shard);
    return a->ns != b->ns ? (a->ns > b->ns ? -1 : 1) : strcmp(a->name, b->name);
}

void recorded_steps_begin(struct recorded_steps *steps, const struct chosen *chosen)
{
    *steps = (struct recorded_steps){.chosen = chosen};
    arena_init(&steps->names, MOST_NAMES);
}

void recorded_steps_settle(struct recorded_steps *steps)
{
    ARRAY_SORT(steps->rows, steps->count, by_shard);
    ARRAY_SORT(steps->phases, steps->phase_count, by_length);
}

// --- what is kept ----------------------------------------------------------------------

static const struct fact_field phase_fields[] = {FACT_FIELD(TEXT, recorded_phase, name),
                                                 FACT_FIELD(NUMBER, recorded_phase, ns)};
static const struct fact_list phase_list = FACT_LIST(PHASES, recorded_phase, phase_fields);

static int load_shard(struct recorded_steps *steps, struct gait_trace *trace, uint32_t shard)
{
    struct facts_file *file;
    struct recorded_phase *phases = NULL;
    size_t count = 0;
    int status = facts_file_open(&file, trace, shard);
    if (status)
        return status;
    status = file ? facts_file_take(file, &phase_list, (void **)&phases, &count) : 0;
    for (size_t i = 0; i < count && status == 1; i++) {
        const char *name = arena_text(&steps->names, phases[i].name, strlen(phases[i].name));
        const int added = name ? add_phase(steps, shard, name, phases[i].ns)
                               : fail(GAIT_ERR_MEMORY, "no memory for the names of phases");
        status = added ? added : 1;
    }
    free(phases);
    facts_file_close(file);
    return status;
}

// 1: of all processes; 0: not of all, and then of none.
static int load_phases(struct recorded_steps *steps, struct gait_trace *trace)
{
    int status = 1;
    for (uint32_t i = 0; i < gait_trace_shard_count(trace) && status == 1; i++)
        if (shard_owner(trace, i) == i)
            status = load_shard(steps, trace, i);
    if (!status)
        steps->phase_count = 0;
    return status;
}

// They stand by shard, for they are settled.
static int save_phases(const struct recorded_steps *steps, struct gait_trace *trace)
{
    int status = GAIT_OK;
    size_t first = 0, behind;
    for (uint32_t i = 0; i < gait_trace_shard_count(trace) && !status; i++) {
        struct facts_file *file = NULL;
        for (behind = first; behind < steps->phase_count && steps->phases[behind].shard == i;)
            behind++;
        if (shard_owner(trace, i) == i)
            status = facts_file_open(&file, trace, i);
        if (!status && file && !facts_file_has(file, &phase_list))
            status = facts_file_put(file, &phase_list, &steps->phases[first], behind - first);
        facts_file_close(file);
        first = behind;
    }
    return status;
}

// Which phases have a name of their own depends on the other ranks where there are too many.
static bool has_few_phases(const struct gait_trace *trace)
{
    struct torch_phases phases;
    const bool has = !torch_phases_init(&phases, trace) && phases.count < TORCH_MOST_PHASES;
    torch_phases_finish(&phases);
    return has;
}

// Of a trace whose steps bear names.
static int find_named(struct recorded_steps *steps, struct gait_trace *trace,
                      const struct fact_ask *asks, size_t count)
{
    const bool is_kept = !steps->chosen && has_few_phases(trace);
    int status = is_kept ? load_phases(steps, trace) : 0;
    if (status == 1)
        return count ? facts_run(trace, asks, count) : GAIT_OK;
    if (!status)
        status = find_ranks(steps, trace, asks, count);
    recorded_steps_settle(steps);
    return status || !is_kept ? status : save_phases(steps, trace);
}

bool recorded_steps_are_named(const struct gait_trace *trace)
{
    return torch_report_is_imported(trace) && !torch_report_finds_steps(trace);
}

int recorded_steps_find(struct recorded_steps *steps, struct gait_trace *trace,
                        const struct chosen *chosen, const struct fact_ask *asks, size_t count)
{
    const bool is_named = recorded_steps_are_named(trace);
    const struct gait_query marked = {.size = sizeof marked, .kinds = 1u << GAIT_KIND_STEP};
    struct step_search finding = {steps, trace};
    recorded_steps_begin(steps, chosen);
    int status = each_event(trace, &marked, take_step, &finding);
    recorded_steps_settle(steps);
    if (!status && is_named)
        status = find_named(steps, trace, asks, count);
    else if (!status && (torch_report_concerns(trace) || torch_report_is_imported(trace)))
        status = find_ranks(steps, trace, NULL, 0);
    recorded_steps_settle(steps);
    return status || is_named || !count ? status : facts_run(trace, asks, count);
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
