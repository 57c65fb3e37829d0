// SPDX-License-Identifier: Apache-2.0
#include "analyse/energy/energy_parts.h"

#include <string.h>

#include "analyse/ledger/phase_times.h"
#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"
#include "analyse/steps/each_step.h"
#include "analyse/time/wrap_add.h"
#include "base/fail.h"
#include "load/shard_owner.h"

#define PARTS_LIMIT ((size_t)64 << 20)
#define STEPS "steps"

struct parts_search {
    struct energy_parts *parts;
    const struct energy_run *run;
    struct gait_trace *trace;
    const struct chosen *chosen; // or NULL
    bool is_cut;                 // a step, by its edges
    struct phase_times steps;
};

void energy_parts_finish(struct energy_parts *parts)
{
    if (parts)
        arena_finish(&parts->arena);
}

static struct energy energy_of(const struct energy_run *run, const char *host,
                               const struct intervals *times)
{
    return energy_run_of(run, &(struct energy_wish){ENERGY_ALL, host, times->rows, times->count});
}

static void add_share(struct energy *sum, const struct energy *more, double share)
{
    sum->joules += more->joules * share;
    sum->low += more->low * share;
    sum->high += more->high * share;
    sum->measured_ns += more->measured_ns;
}

static size_t threads_of(const struct phase_times *times, const char *host)
{
    size_t count = 0;
    for (size_t i = 0; i < times->count; i++)
        count += !strcmp(times->threads[i].host, host);
    return count;
}

static bool is_first_of_host(const struct phase_times *times, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (!strcmp(times->threads[i].host, times->threads[at].host))
            return false;
    return true;
}

// --- steps ----------------------------------------------------------------------------------

// All times in which a thread of that host was in a step.
static int join_host(struct intervals *all, const struct parts_search *search, const char *host)
{
    const struct phase_times *times = &search->steps;
    struct intervals chosen = {.count = 0};
    int status = GAIT_OK;
    intervals_init(all);
    for (size_t i = 0; i < times->count && !status; i++) {
        const struct intervals *own = &times->threads[i].times;
        for (size_t j = 0; !strcmp(times->threads[i].host, host) && j < own->count && !status; j++)
            status = intervals_add(all, own->rows[j].start_ns, own->rows[j].end_ns);
    }
    intervals_join(all);
    if (!status && search->chosen)
        status = chosen_of_host(search->chosen, search->trace, host, &chosen);
    if (!status && search->chosen)
        status = intervals_intersect(all, &chosen);
    intervals_finish(&chosen);
    return status;
}

static int find_steps(struct parts_search *search)
{
    struct energy_parts *parts = search->parts;
    int status = phase_times_find(&search->steps, search->trace, STEPS);
    const struct phase_times times = search->steps;
    if (status == GAIT_ERR_MEMORY)
        return status;
    fail_clear(); // no steps: none to tell of
    for (size_t i = 0; !status && i < times.count; i++) {
        struct intervals all;
        if (!is_first_of_host(&times, i))
            continue;
        status = join_host(&all, search, times.threads[i].host);
        const struct energy more = energy_of(search->run, times.threads[i].host, &all);
        const uint64_t length = intervals_total(&all);
        energy_add(&parts->steps, &more);
        parts->steps_ns = length > parts->steps_ns ? length : parts->steps_ns;
        intervals_finish(&all);
    }
    return status == GAIT_ERR_MEMORY ? status : GAIT_OK;
}

// --- phases ---------------------------------------------------------------------------------

// What of a thread's phase lies in its steps.
static int cut_to_steps(const struct parts_search *search, const struct phase_thread *thread,
                        struct intervals *in_steps)
{
    const struct intervals *steps = phase_times_of(&search->steps, thread->host, thread->tid);
    const struct intervals none = {.count = 0};
    struct intervals beside;
    intervals_init(&beside);
    intervals_init(in_steps);
    int status = intervals_subtract(&beside, &thread->times, steps ? steps : &none);
    if (!status)
        status = intervals_subtract(in_steps, &thread->times, &beside);
    if (!status && search->chosen)
        status = intervals_intersect(
            in_steps, &search->chosen->times[shard_owner(search->trace, thread->shard)]);
    intervals_finish(&beside);
    return status;
}

static int find_phase(const struct parts_search *search, const char *name)
{
    struct energy_parts *parts = search->parts;
    struct energy_part part = {.name = arena_text(&parts->arena, name, strlen(name))};
    struct phase_times times;
    int status = phase_times_find(&times, search->trace, name);
    if (status == GAIT_ERR_MEMORY)
        return status;
    fail_clear();
    for (size_t i = 0; !status && i < times.count; i++) {
        const struct phase_thread *thread = &times.threads[i];
        struct intervals in_steps;
        status = cut_to_steps(search, thread, &in_steps);
        const struct energy more = energy_of(search->run, thread->host, &in_steps);
        add_share(&part.energy, &more, 1.0 / (double)threads_of(&times, thread->host));
        part.ns += intervals_total(&in_steps);
        intervals_finish(&in_steps);
    }
    phase_times_finish(&times);
    if (part.name && part.ns)
        parts->phases[parts->phase_count++] = part;
    return status == GAIT_ERR_MEMORY ? status : GAIT_OK;
}

static int find_phases(const struct parts_search *search, const struct torch_report *torch)
{
    struct energy_parts *parts = search->parts;
    int status = GAIT_OK;
    parts->phases = arena_take(&parts->arena, TORCH_MOST_PHASES * sizeof *parts->phases);
    if (!parts->phases)
        return fail(GAIT_ERR_MEMORY, "no memory for the energy of phases");
    for (unsigned i = 0; i < torch->phases.count && !status; i++)
        if (torch->totals[i])
            status = find_phase(search, torch->phases.names[i]);
    return status;
}

// --- epochs ---------------------------------------------------------------------------------

struct epoch_search {
    const struct torch_report *torch;
    struct energy_parts *parts;
    uint32_t shard; // of the first rank
    uint64_t place; // of the next step there
    size_t next;    // epoch whose first step is looked for
};

static int see_step(void *context, const struct gait_event *step, uint32_t shard)
{
    struct epoch_search *search = context;
    const struct torch_report *torch = search->torch;
    if (shard != search->shard)
        return GAIT_OK;
    if (search->next < torch->epoch_count &&
        torch->epochs[search->next].first_step == search->place)
        search->parts->epochs[search->next++].start_ns = step->start_ns;
    search->place++;
    return GAIT_OK;
}

static int find_epochs(const struct parts_search *asked, const struct torch_report *torch)
{
    struct energy_parts *parts = asked->parts;
    struct epoch_search search = {.torch = torch, .parts = parts};
    struct gait_track_info track;
    if (!torch->epoch_count || !torch->rank_count)
        return GAIT_OK;
    parts->epochs = arena_take(&parts->arena, torch->epoch_count * sizeof *parts->epochs);
    if (!parts->epochs)
        return fail(GAIT_ERR_MEMORY, "no memory for the energy of epochs");
    memset(parts->epochs, 0, torch->epoch_count * sizeof *parts->epochs);
    int status = gait_trace_track(asked->trace, torch->ranks[0].track, &track);
    search.shard = track.shard;
    if (!status)
        status = each_step(asked->trace, false, see_step, &search);
    for (size_t i = 0; i < search.next && !status; i++) {
        struct energy_part *epoch = &parts->epochs[i];
        epoch->ns = torch->epochs[i].wall_ns ? torch->epochs[i].wall_ns : torch->epochs[i].total_ns;
        struct interval time = {epoch->start_ns, epoch->start_ns + (int64_t)epoch->ns};
        const struct intervals all = {.rows = &time, .count = 1};
        epoch->number = i;
        epoch->energy = energy_of(asked->run, NULL, &all);
    }
    parts->epoch_count = search.next;
    return status;
}

static int count_step(void *context, const struct gait_event *step, uint32_t shard)
{
    struct parts_search *search = context;
    const int64_t last_ns =
        wrap_add(step->start_ns, step->duration_ns > 0 ? step->duration_ns - 1 : 0);
    const bool has_begin = chosen_has(search->chosen, shard, step->start_ns);
    search->is_cut |= has_begin != chosen_has(search->chosen, shard, last_ns);
    search->parts->step_count += has_begin;
    return GAIT_OK;
}

int energy_parts_find(struct energy_parts *parts, const struct run_report *report,
                      struct gait_trace *trace)
{
    const struct chosen *chosen = report->devices.chosen;
    struct parts_search search = {
        .parts = parts, .run = &report->energy, .trace = trace, .chosen = chosen};
    const struct torch_report *torch = report->torch;
    const bool is_whole = !chosen, has_steps = report->steps.count > 0;
    *parts = (struct energy_parts){.step_count = is_whole ? report->steps.count : 0};
    arena_init(&parts->arena, PARTS_LIMIT);
    parts->samples = torch && is_whole ? torch->samples : 0;
    parts->tokens = torch && is_whole ? torch->tokens : 0;
    int status = is_whole ? GAIT_OK : each_step(trace, false, count_step, &search);
    if (search.is_cut)
        parts->step_count = 0;
    if (!status && has_steps)
        status = find_steps(&search);
    if (!status && torch && has_steps)
        status = find_phases(&search, torch);
    if (!status && torch && is_whole)
        status = find_epochs(&search, torch);
    phase_times_finish(&search.steps);
    if (status)
        energy_parts_finish(parts);
    return status;
}
