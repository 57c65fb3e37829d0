// SPDX-License-Identifier: Apache-2.0
#include "analyse/steps/chosen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/ledger/phase_times.h"
#include "analyse/steps/each_step.h"
#include "base/fail.h"
#include "base/units.h"
#include "facts/launches.h"
#include "load/shard_owner.h"

struct found { // of a shard
    struct intervals steps, phases;
    uint64_t least, most;
};

struct search {
    const struct chosen *chosen;
    struct gait_trace *trace;
    const struct choice *choice;
    struct found *found;
};

bool chosen_has(const struct chosen *chosen, uint32_t shard, int64_t at_ns)
{
    return !chosen || intervals_cover(&chosen->times[shard], at_ns);
}

bool chosen_has_row(const struct chosen *chosen, uint32_t shard, const struct fact_slice *slice,
                    const struct fact_rows *track, const struct fact_row *row)
{
    if (!chosen)
        return true;
    const struct launch *launch =
        launches_find(slice->launches, track->shard, row->link, row->start_ns);
    return chosen_has(chosen, shard, launch ? launch->start_ns : row->start_ns);
}

static void widen(struct interval *span, const struct intervals *times)
{
    if (times->count && times->rows[0].start_ns < span->start_ns)
        span->start_ns = times->rows[0].start_ns;
    if (times->count && times->rows[times->count - 1].end_ns > span->end_ns)
        span->end_ns = times->rows[times->count - 1].end_ns;
}

struct interval chosen_all(const struct chosen *chosen)
{
    struct interval all = {INT64_MAX, INT64_MIN};
    for (uint32_t i = 0; i < chosen->shard_count; i++)
        widen(&all, &chosen->times[i]);
    return all;
}

struct interval chosen_span(const struct chosen *chosen, const struct gait_trace *trace,
                            uint32_t shard)
{
    const struct intervals *own = &chosen->times[shard_owner(trace, shard)];
    const int64_t rank = trace->run.shards[shard_owner(trace, shard)]->info.rank;
    struct interval span = {INT64_MAX, INT64_MIN};
    widen(&span, own);
    for (uint32_t i = 0; !own->count && i < chosen->shard_count; i++)
        if (rank < 0 || trace->run.shards[i]->info.rank == rank)
            widen(&span, &chosen->times[i]);
    return span;
}

int chosen_of_host(const struct chosen *chosen, const struct gait_trace *trace, const char *host,
                   struct intervals *times)
{
    int status = GAIT_OK;
    for (uint32_t i = 0; i < chosen->shard_count; i++) {
        const struct intervals *own = &chosen->times[i];
        if (strcmp(trace->run.shards[i]->info.host, host) != 0)
            continue;
        for (size_t at = 0; at < own->count && !status; at++)
            status = intervals_add(times, own->rows[at].start_ns, own->rows[at].end_ns);
    }
    intervals_join(times);
    return status;
}

// --- steps and phases ------------------------------------------------------------------

static int take_step(struct search *search, uint32_t shard, uint64_t number, int64_t start_ns,
                     int64_t end_ns)
{
    struct found *found = &search->found[shard];
    const struct choice *choice = search->choice;
    found->least = number < found->least ? number : found->least;
    found->most = number > found->most ? number : found->most;
    if (number < choice->steps.first || number > choice->steps.last)
        return GAIT_OK;
    if (choice->is_whole &&
        (start_ns < search->chosen->from_ns || start_ns >= search->chosen->to_ns))
        return GAIT_OK;
    return intervals_add(&found->steps, start_ns, end_ns);
}

static int take_event(void *context, const struct gait_event *event, uint32_t shard)
{
    int64_t end_ns;
    return event->duration_ns < 0 ||
                   __builtin_add_overflow(event->start_ns, event->duration_ns, &end_ns)
               ? GAIT_OK
               : take_step(context, shard, event->id, event->start_ns, end_ns);
}

static int find_phase(struct search *search)
{
    struct phase_times times;
    int status = phase_times_find_by_shard(&times, search->trace, search->choice->texts.phase);
    if (status)
        return status;
    for (size_t i = 0; i < times.count && !status; i++) {
        const struct phase_thread *thread = &times.threads[i];
        const int64_t last_ns = search->trace->run.shards[thread->shard]->info.end_ns;
        struct found *found = &search->found[shard_owner(search->trace, thread->shard)];
        for (size_t at = 0; at < thread->times.count && !status; at++) {
            const struct interval *time = &thread->times.rows[at];
            const int64_t end_ns = time->end_ns == INT64_MAX ? last_ns : time->end_ns; // open
            status = intervals_add(&found->phases, time->start_ns, end_ns);
        }
    }
    phase_times_finish(&times);
    return status;
}

static int find(struct search *search)
{
    int status = GAIT_OK;
    if (search->choice->has_steps)
        status = each_step(search->trace, false, take_event, search);
    return status || !search->choice->texts.phase ? status : find_phase(search);
}

// --- what is left ----------------------------------------------------------------------

static int leave(const struct chosen *chosen, const struct choice *choice, struct found *found,
                 struct intervals *times)
{
    int status = GAIT_OK;
    intervals_join(&found->steps);
    intervals_join(&found->phases);
    if (choice->has_steps)
        status = intervals_subtract(times, &found->steps, &(struct intervals){.count = 0});
    else
        status = intervals_add(times, INT64_MIN, INT64_MAX);
    if (!status && choice->texts.phase)
        status = intervals_intersect(times, &found->phases);
    if (!status && !choice->is_whole)
        intervals_cut(times, chosen->from_ns, chosen->to_ns);
    return status;
}

static int fail_steps(const struct search *search)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (uint32_t i = 0; i < search->trace->run.shard_count; i++) {
        least = search->found[i].least < least ? search->found[i].least : least;
        most = search->found[i].most > most ? search->found[i].most : most;
    }
    if (least == UINT64_MAX)
        return fail(GAIT_ERR_ARGUMENT, "the choice leaves no step: none is on record");
    return fail(GAIT_ERR_ARGUMENT,
                "the choice leaves no step: those on record are %" PRIu64 "..%" PRIu64, least,
                most);
}

// Says what of the choice is not there.
static int check(const struct search *search, const struct chosen *chosen)
{
    size_t steps = 0, left = 0;
    for (uint32_t i = 0; i < chosen->shard_count; i++) {
        steps += search->found[i].steps.count;
        left += chosen->times[i].count;
    }
    if (left)
        return GAIT_OK;
    if (search->choice->has_steps && !steps)
        return fail_steps(search);
    return fail(GAIT_ERR_ARGUMENT, "the choice leaves nothing: its steps, times and phase have no "
                                   "moment in common");
}

// --- times -----------------------------------------------------------------------------

static struct interval life_of(const struct gait_trace *trace)
{
    struct interval life = {INT64_MAX, INT64_MIN};
    for (uint32_t i = 0; i < trace->run.shard_count; i++) {
        const struct gait_shard_info *info = &trace->run.shards[i]->info;
        life.start_ns = info->start_ns < life.start_ns ? info->start_ns : life.start_ns;
        life.end_ns = info->end_ns > life.end_ns ? info->end_ns : life.end_ns;
    }
    return life;
}

void chosen_fix_times(struct choice *choice, const struct gait_trace *trace)
{
    struct choice_time *times[] = {&choice->from, &choice->to};
    const int64_t start_ns = life_of(trace).start_ns;
    for (size_t i = 0; i < 2; i++)
        if (!times[i]->is_absolute) {
            if (__builtin_add_overflow(start_ns, times[i]->ns, &times[i]->ns))
                times[i]->ns = INT64_MAX;
            times[i]->is_absolute = true;
        }
}

static int find_window(struct chosen *chosen, const struct gait_trace *trace, struct choice choice)
{
    const struct interval life = life_of(trace);
    chosen_fix_times(&choice, trace);
    chosen->from_ns = choice.from.is_given ? choice.from.ns : INT64_MIN;
    chosen->to_ns = choice.to.is_given ? choice.to.ns : INT64_MAX;
    const bool is_any = chosen->from_ns < chosen->to_ns;
    if (!is_any && choice.from.is_given && choice.to.is_given)
        return fail(GAIT_ERR_ARGUMENT, "'--from' %.40s is not before '--to' %.40s",
                    choice.texts.from, choice.texts.to);
    if (!is_any || chosen->from_ns > life.end_ns || chosen->to_ns <= life.start_ns)
        return fail(GAIT_ERR_ARGUMENT,
                    "the times chosen are not of the run: it lasts %s from %" PRId64
                    " ns since 1970 on",
                    units_ns((int64_t)((uint64_t)life.end_ns - (uint64_t)life.start_ns)).text,
                    life.start_ns);
    return GAIT_OK;
}

int chosen_find(struct chosen *chosen, struct gait_trace *trace, const struct choice *choice)
{
    const uint32_t count = trace->run.shard_count;
    struct search search = {.chosen = chosen, .trace = trace, .choice = choice};
    *chosen = (struct chosen){.shard_count = count};
    chosen->is_of_time_alone = !choice->has_steps && !choice->texts.phase;
    chosen->cuts_steps = choice->from.is_given || choice->to.is_given || choice->texts.phase;
    chosen->times = calloc((size_t)count + 1, sizeof *chosen->times);
    search.found = calloc((size_t)count + 1, sizeof *search.found);
    int status = chosen->times && search.found
                     ? find_window(chosen, trace, *choice)
                     : fail(GAIT_ERR_MEMORY, "no memory for a choice of %u files", count);
    for (uint32_t i = 0; i < count && !status; i++)
        search.found[i].least = UINT64_MAX;
    if (!status && !chosen->is_of_time_alone)
        status = find(&search);
    for (uint32_t i = 0; i < count && !status; i++)
        status = leave(chosen, choice, &search.found[i], &chosen->times[i]);
    if (!status)
        status = check(&search, chosen);
    for (uint32_t i = 0; search.found && i < count; i++) {
        intervals_finish(&search.found[i].steps);
        intervals_finish(&search.found[i].phases);
    }
    free(search.found);
    if (status)
        chosen_finish(chosen);
    return status;
}

void chosen_finish(struct chosen *chosen)
{
    for (uint32_t i = 0; chosen->times && i < chosen->shard_count; i++)
        intervals_finish(&chosen->times[i]);
    free(chosen->times);
    *chosen = (struct chosen){.times = NULL};
}
