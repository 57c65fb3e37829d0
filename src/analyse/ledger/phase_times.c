// SPDX-License-Identifier: Apache-2.0
// A thread is known by its host and the system's number of it: that is what a sampler
// outside and a recorder inside of it have in common.
#include "analyse/ledger/phase_times.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/job/inventory.h"
#include "analyse/job/process_lives.h"
#include "analyse/ledger/torch_ledger.h"
#include "analyse/ledger/torch_phases.h"
#include "analyse/steps/training_thread.h"
#include "analyse/time/lower_bound.h"
#include "base/array.h"
#include "base/fail.h"
#include "base/suggest.h"
#include "load/site_role.h"

enum { MOST_THREADS = 1 << 20, MOST_NAMES = 40, NAMES_BYTES = 600 };
enum { NO_NUMBER = TORCH_MOST_PHASES };
#define STEPS "steps" // asks for what ran in steps, whatever the phase

struct finding {
    struct phase_times *times;
    struct gait_trace *trace;
    const char *phase;
    bool *is_phase, *was_seen; // of a site
    uint32_t site_count;
    struct intervals *into[PLACE_COUNT]; // of the training thread that is read; NULL: not asked for
    const struct process_lives *lives;   // NULL: no part of the run is asked for
    unsigned number;                     // the place of the phase, or NO_NUMBER; of steps any
    bool is_steps;
    bool is_of_steps; // windows that are split are steps: what is `other` counts there
};

// Phases that could have been asked for, for the words of a failure.
struct known {
    const char *names[MOST_NAMES + 1];
    size_t count;
};

static void know(struct known *known, const char *name, const char *phase)
{
    if (!strcmp(name, phase)) // it never lasted
        return;
    for (size_t i = 0; i < known->count; i++)
        if (!strcmp(known->names[i], name))
            return;
    if (known->count < MOST_NAMES && *name)
        known->names[known->count++] = name;
}

void phase_times_finish(struct phase_times *times)
{
    if (!times)
        return;
    for (size_t i = 0; i < times->count; i++)
        intervals_finish(&times->threads[i].times);
    free(times->threads);
    *times = (struct phase_times){.count = 0};
}

static struct phase_thread *find(const struct phase_times *times, const char *host, int64_t tid,
                                 uint32_t shard)
{
    for (size_t i = 0; i < times->count; i++)
        if (times->threads[i].tid == tid && !strcmp(times->threads[i].host, host) &&
            (!times->is_by_shard || times->threads[i].shard == shard))
            return &times->threads[i];
    return NULL;
}

const struct intervals *phase_times_of(const struct phase_times *times, const char *host,
                                       int64_t tid)
{
    const struct phase_thread *thread = find(times, host, tid, 0);
    return thread ? &thread->times : NULL;
}

static int thread_of(const struct finding *finding, struct phase_times *times, uint32_t track,
                     struct intervals **ret_times)
{
    struct gait_track_info info;
    struct gait_shard_info shard;
    int status = gait_trace_track(finding->trace, track, &info);
    if (status == 0)
        status = gait_trace_shard(finding->trace, info.shard, &shard);
    struct phase_thread *thread = status ? NULL : find(times, shard.host, info.tid, info.shard);
    if (status == 0 && !thread)
        status = ARRAY_RESERVE(times->threads, times->capacity, times->count + 1, MOST_THREADS);
    if (status)
        return status;
    if (!thread) {
        thread = &times->threads[times->count++];
        *thread = (struct phase_thread){.host = shard.host, .tid = info.tid, .shard = info.shard};
    }
    *ret_times = &thread->times;
    return 0;
}

static int64_t end_of(int64_t start_ns, int64_t duration_ns)
{
    int64_t end_ns;
    const bool is_open = duration_ns < 0 || __builtin_add_overflow(start_ns, duration_ns, &end_ns);
    return is_open ? INT64_MAX : end_ns;
}

static int see_spans(const struct gait_batch *batch, void *context)
{
    struct finding *finding = context;
    struct intervals *periods = NULL;
    int status = 0;
    for (size_t row = 0; row < batch->rows && status == 0; row++) {
        const uint32_t site = batch->site[row];
        if (site >= finding->site_count)
            continue;
        finding->was_seen[site] = true;
        if (!finding->is_phase[site])
            continue;
        if (!periods)
            status = thread_of(finding, finding->times, batch->track, &periods);
        if (status == 0)
            status = intervals_add(periods, batch->start_ns[row],
                                   end_of(batch->start_ns[row], batch->duration_ns[row]));
    }
    return status;
}

static int see_steps(const struct gait_batch *batch, void *context)
{
    struct finding *finding = context;
    struct intervals *periods;
    int status = batch->rows ? thread_of(finding, finding->times, batch->track, &periods) : 0;
    for (size_t row = 0; row < batch->rows && status == 0; row++)
        status = intervals_add(periods, batch->start_ns[row],
                               end_of(batch->start_ns[row], batch->duration_ns[row]));
    return status;
}

// As the program told them.
static int find_steps(struct finding *finding)
{
    const struct gait_query query = {.size = sizeof query, .kinds = 1u << GAIT_KIND_STEP};
    return finding->is_steps
               ? gait_scan(finding->trace, &query, GAIT_COLUMN_START | GAIT_COLUMN_DURATION,
                           see_steps, finding)
               : 0;
}

static int find_spans(struct finding *finding, struct known *known)
{
    const struct gait_query query = {.size = sizeof query, .kinds = 1u << GAIT_KIND_SPAN};
    struct gait_site_info site;
    int status = 0;
    for (uint32_t i = 0; i < finding->site_count && status == 0; i++) {
        status = gait_trace_site(finding->trace, i, &site);
        finding->is_phase[i] = status == 0 && !strcmp(site.name, finding->phase) &&
                               site_role(finding->trace, i) != ROLE_DEVICE_ANNOTATION &&
                               !role_is_device_work(site_role(finding->trace, i));
    }
    if (status == 0)
        status = gait_scan(finding->trace, &query,
                           GAIT_COLUMN_START | GAIT_COLUMN_DURATION | GAIT_COLUMN_SITE, see_spans,
                           finding);
    const bool is_torch = known->count > 0; // its spans are ops mostly
    for (uint32_t i = 0; i < finding->site_count && status == 0 && !is_torch; i++) {
        status = gait_trace_site(finding->trace, i, &site);
        if (status == 0 && finding->was_seen[i])
            know(known, site.name, finding->phase);
    }
    return status;
}

static int add_piece(struct intervals *into, const struct torch_piece *piece)
{
    return into ? intervals_add(into, piece->start_ns, piece->start_ns + (int64_t)piece->ns)
                : GAIT_OK;
}

static int take_piece(const struct torch_piece *piece, void *context)
{
    const struct finding *finding = context;
    return (piece->phase == TORCH_OTHER) == finding->is_of_steps
               ? add_piece(finding->into[piece->phase], piece)
               : GAIT_OK;
}

static int take_part(enum run_part part, const struct torch_piece *piece, void *context)
{
    const struct finding *finding = context;
    return add_piece(finding->into[PLACE_PARTS + part], piece);
}

static int steps_as_windows(const struct training_thread *thread, struct intervals *windows)
{
    int status = 0;
    for (size_t i = 0; i < thread->steps.count && status == 0; i++)
        status =
            intervals_add(windows, thread->steps.rows[i].start_ns, thread->steps.rows[i].end_ns);
    return status;
}

// All that the thread did is one window: a phase lasts outside of steps too. But there all
// the imports would be `other`, which is asked for what the steps lost in no phase.
static int split_thread(struct finding *finding, const struct training_thread *thread,
                        const struct gait_shard_info *shard, uint32_t index)
{
    struct intervals steps = {.count = 0};
    int status = steps_as_windows(thread, &steps);
    for (int i = 0; i < 2 && status == 0 && thread->facts.count; i++) {
        if (!finding->lives && i != (finding->number == TORCH_OTHER))
            continue;
        struct interval all = {thread->facts.rows[0].start_ns, shard->end_ns};
        const struct intervals whole = {&all, all.start_ns < all.end_ns, 1};
        finding->is_of_steps = i;
        status =
            torch_ledger_split(thread, i && steps.count ? &steps : &whole, take_piece, finding);
    }
    if (status == 0 && finding->lives) {
        const struct process_life *life = &finding->lives->rows[index];
        const struct interval lived = {life->start_ns, life->end_ns};
        status = run_parts_each(thread, &steps, &lived, take_part, finding);
    }
    intervals_finish(&steps);
    return status;
}

// Threads for whatever is asked for.
static int begin_training(struct finding *finding, unsigned phases, uint32_t track)
{
    int status = 0;
    if (!finding->lives)
        return thread_of(finding, finding->times, track, &finding->into[finding->number]);
    for (unsigned i = 0; i < PLACE_COUNT && status == 0; i++)
        if (i < phases || i >= PLACE_PARTS)
            status = thread_of(finding, &finding->times[i], track, &finding->into[i]);
    return status;
}

static int read_training(struct finding *finding, const struct inventory *survey, unsigned phases,
                         uint32_t index)
{
    struct training_thread thread;
    struct gait_shard_info shard;
    uint32_t track;
    if (!inventory_stepper(survey, index, &track))
        return 0;
    int status = gait_trace_shard(finding->trace, index, &shard);
    if (status == 0)
        status = begin_training(finding, phases, track);
    if (status)
        return status;
    training_thread_init(&thread);
    status = training_thread_read(&thread, finding->trace, survey, track);
    if (status == 0)
        status = finding->is_steps ? steps_as_windows(&thread, finding->into[finding->number])
                                   : split_thread(finding, &thread, &shard, index);
    training_thread_finish(&thread);
    return status;
}

static int find_torch(struct finding *finding, struct known *known)
{
    struct torch_phases phases;
    struct inventory survey = {.track_count = 0};
    int status = torch_phases_init(&phases, finding->trace);
    if (status == 0)
        status = inventory_make(&survey, finding->trace, &phases);
    if (status == 0 && inventory_has_facts(&survey)) {
        know(known, STEPS, finding->phase);
        for (unsigned i = 0; i < phases.count; i++) {
            know(known, phases.names[i], finding->phase);
            if (!strcmp(phases.names[i], finding->phase))
                finding->number = i;
        }
        for (uint32_t i = 0; i < survey.shard_count && status == 0; i++)
            if (finding->number != NO_NUMBER || finding->lives)
                status = read_training(finding, &survey, phases.count, i);
    }
    inventory_finish(&survey);
    torch_phases_finish(&phases);
    return status;
}

// Joins them. Whether any lasts.
static bool is_found(const struct phase_times *times)
{
    bool has_any = false;
    for (size_t i = 0; i < times->count; i++) {
        intervals_join(&times->threads[i].times);
        has_any = has_any || times->threads[i].times.count;
    }
    return has_any;
}

static int refuse(const struct known *known, const char *phase)
{
    char words[NAMES_BYTES] = "";
    size_t used = 0;
    const char *meant = suggest_nearest(phase, known->names);
    for (size_t i = 0; i < known->count && used < sizeof words; i++)
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", i ? ", " : "",
                                 known->names[i]);
    if (!known->count)
        return fail(
            GAIT_ERR_MISSING,
            "no phase '%s': the run has no spans; gait run --sample 1000 records samples and spans",
            phase);
    if (meant)
        return fail(GAIT_ERR_MISSING, "no thread was in a phase '%s'; did you mean '%s'?", phase,
                    meant);
    return fail(GAIT_ERR_MISSING, "no thread was in a phase '%s'; the run has %s", phase, words);
}

static int find_times(struct phase_times *times, struct gait_trace *trace, const char *phase)
{
    const bool is_steps = !strcmp(phase, STEPS);
    struct finding finding = {.times = times,
                              .trace = trace,
                              .phase = phase,
                              .number = is_steps ? 0 : NO_NUMBER,
                              .is_steps = is_steps,
                              .site_count = gait_trace_site_count(trace)};
    struct known known = {.count = 0};
    int status = find_torch(&finding, &known);
    bool has_any = status == 0 && is_found(times);
    if (status == 0 && !has_any) {
        status = find_steps(&finding);
        has_any = is_found(times);
    }
    finding.is_phase = calloc((size_t)finding.site_count + 1, 1);
    finding.was_seen = calloc((size_t)finding.site_count + 1, 1);
    if (status == 0 && (!finding.is_phase || !finding.was_seen))
        status = fail(GAIT_ERR_MEMORY, "no memory for the times of a phase");
    if (status == 0 && !has_any) {
        status = find_spans(&finding, &known);
        has_any = is_found(times);
    }
    if (status == 0 && !has_any)
        status = refuse(&known, phase);
    free(finding.is_phase);
    free(finding.was_seen);
    if (status)
        phase_times_finish(times);
    return status;
}

int phase_times_find(struct phase_times *times, struct gait_trace *trace, const char *phase)
{
    *times = (struct phase_times){.count = 0};
    return find_times(times, trace, phase);
}

int phase_times_find_by_shard(struct phase_times *times, struct gait_trace *trace,
                              const char *phase)
{
    *times = (struct phase_times){.is_by_shard = true};
    return find_times(times, trace, phase);
}

int phase_times_find_all(struct phase_times times[PLACE_COUNT], struct gait_trace *trace,
                         const struct process_lives *lives)
{
    struct finding finding = {.times = times, .trace = trace, .phase = "", .lives = lives};
    struct known known = {.count = 0};
    memset(times, 0, PLACE_COUNT * sizeof *times);
    const int status = find_torch(&finding, &known);
    for (unsigned i = 0; i < PLACE_COUNT && status == 0; i++)
        is_found(&times[i]);
    return status;
}

uint64_t phase_times_hit(const struct intervals *periods, const struct phase_looks *looks)
{
    const double all = (double)looks->count;
    const double apart = ((double)looks->end_ns - (double)looks->start_ns) / fmax(all - 1, 1);
    double hit = 0;
    if (!periods || !periods->count)
        return 0;
    if (!(apart > 0)) // all at one moment
        return intervals_cover(periods, looks->start_ns) ? looks->count : 0;
    size_t at =
        lower_bound(&periods->rows->end_ns, periods->count, sizeof *periods->rows, looks->start_ns);
    for (; at < periods->count && periods->rows[at].start_ns <= looks->end_ns; at++) {
        const struct interval *period = &periods->rows[at];
        const double from = ((double)period->start_ns - (double)looks->start_ns) / apart;
        const double to = ((double)period->end_ns - (double)looks->start_ns) / apart;
        hit += fmax(ceil(fmin(to, all)) - ceil(fmax(from, 0)), 0);
    }
    return hit < all ? (uint64_t)hit : looks->count;
}
