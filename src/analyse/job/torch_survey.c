// SPDX-License-Identifier: Apache-2.0
// Sites and lengths only, no arguments: this pass meets every op of every window.
#include "analyse/job/torch_survey.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"
#include "vocabulary/metadata.h"

enum { MOST_ASYNCS = 1 << 24 };

struct look {
    struct torch_survey *survey;
    const struct torch_phases *phases;
};

static int prepare(struct torch_survey *survey, const struct gait_trace *trace)
{
    *survey = (struct torch_survey){.track_count = gait_trace_track_count(trace),
                                    .shard_count = gait_trace_shard_count(trace)};
    survey->tracks = calloc((size_t)survey->track_count + 1, sizeof *survey->tracks);
    survey->shards = calloc((size_t)survey->shard_count + 1, sizeof *survey->shards);
    survey->shard_of = calloc((size_t)survey->track_count + 1, sizeof *survey->shard_of);
    if (!survey->tracks || !survey->shards || !survey->shard_of)
        return fail(GAIT_ERR_MEMORY, "no memory for %u threads", survey->track_count);
    for (uint32_t i = 0; i < survey->track_count; i++) {
        struct gait_track_info info;
        int status = gait_trace_track(trace, i, &info);
        if (status)
            return status;
        survey->shard_of[i] = info.shard;
    }
    return GAIT_OK;
}

static void look_at_span(const struct look *look, const struct gait_batch *batch, size_t row)
{
    struct torch_survey *survey = look->survey;
    struct torch_survey_shard *shard = &survey->shards[survey->shard_of[batch->track]];
    struct torch_survey_track *track = &survey->tracks[batch->track];
    uint64_t length = batch->duration_ns[row] > 0 ? (uint64_t)batch->duration_ns[row] : 0;
    uint32_t site = batch->site[row];
    enum role role = torch_phases_role(look->phases, site);
    shard->events[role] += role != ROLE_MEMORY; // which is counted by the kind of its rows
    if (role == ROLE_FETCH)
        shard->fetch_ns += length;
    if (role == ROLE_COLLATE)
        shard->collate_ns += length;
    if (role != ROLE_PHASE)
        return;
    unsigned phase = look->phases->site_phases[site];
    track->optimizers += phase == TORCH_OPTIMIZER;
    track->backwards += phase == TORCH_BACKWARD;
    track->forwards += phase == TORCH_FORWARD;
    track->inputs += phase == TORCH_INPUT;
    track->compiles += phase == TORCH_COMPILE;
}

static int look_at(const struct gait_batch *batch, void *context)
{
    const struct look *look = context;
    struct torch_survey *survey = look->survey;
    if (batch->track >= survey->track_count)
        return GAIT_OK;
    struct torch_survey_shard *shard = &survey->shards[survey->shard_of[batch->track]];
    if (batch->kind == GAIT_KIND_MEMORY)
        shard->events[ROLE_MEMORY] += batch->rows;
    for (size_t row = 0; row < batch->rows; row++) {
        if (batch->kind == GAIT_KIND_STEP)
            survey->tracks[batch->track].marked_steps += batch->duration_ns[row] >= 0;
        else if (batch->kind == GAIT_KIND_SPAN)
            look_at_span(look, batch, row);
    }
    return GAIT_OK;
}

static int keep_async(struct torch_survey *survey, const struct gait_batch *batch, size_t row)
{
    const struct array_shape shape = {sizeof *survey->asyncs, MOST_ASYNCS};
    int status = array_reserve((void **)&survey->asyncs, &survey->async_capacity,
                               survey->async_count + 1, shape);
    if (!status)
        survey->asyncs[survey->async_count++] =
            (struct torch_async){.start_ns = batch->start_ns[row],
                                 .duration_ns = batch->duration_ns[row],
                                 .id = batch->id[row],
                                 .shard = survey->shard_of[batch->track],
                                 .site = batch->site[row]};
    return status;
}

// Pairing them goes over all shards at once, so it is done once for all ranks.
// Ops that begin on one thread and end on another are only counted.
static int take_async(const struct gait_batch *batch, void *context)
{
    const struct look *look = context;
    struct torch_survey *survey = look->survey;
    int status = GAIT_OK;
    if (batch->track >= survey->track_count)
        return GAIT_OK;
    struct torch_survey_shard *shard = &survey->shards[survey->shard_of[batch->track]];
    for (size_t row = 0; !status && row < batch->rows; row++) {
        enum role role = torch_phases_role(look->phases, batch->site[row]);
        if (role != ROLE_PHASE && role != ROLE_MEMORY)
            shard->events[role]++;
        if (role == ROLE_WINDOW || role == ROLE_PHASE)
            status = keep_async(survey, batch, row);
    }
    return status;
}

static int by_shard(const void *left, const void *right)
{
    const struct torch_async *a = left, *b = right;
    return a->shard < b->shard ? -1 : a->shard > b->shard;
}

// The first window of a process under `gait run --profile` is there for programs that
// make no step. Where one was made it is as if it had not been.
static void drop_spares(struct torch_survey *survey, const struct look *look,
                        const struct gait_trace *trace)
{
    size_t kept = 0;
    if (torch_survey_spare(trace))
        return;
    for (size_t i = 0; i < survey->async_count; i++) {
        const struct torch_async async = survey->asyncs[i];
        int64_t end_ns;
        if (async.id == 1 && gait_trace_metadata(trace, async.shard, meta.spare_window) &&
            torch_phases_role(look->phases, async.site) == ROLE_WINDOW && async.duration_ns >= 0 &&
            !__builtin_add_overflow(async.start_ns, async.duration_ns, &end_ns))
            survey->shards[async.shard].ops_since_ns = end_ns;
        else
            survey->asyncs[kept++] = async;
    }
    survey->async_count = kept;
}

enum spare_window torch_survey_spare(const struct gait_trace *trace)
{
    enum spare_window kept = SPARE_NONE;
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++) {
        const enum spare_window said = meta_spare(gait_trace_metadata(trace, i, meta.spare_window));
        if (said == SPARE_DROPPED)
            return SPARE_NONE;
        if (said && (!kept || kept == SPARE_KEPT))
            kept = said;
    }
    return kept;
}

int torch_survey_make(struct torch_survey *survey, struct gait_trace *trace,
                      const struct torch_phases *phases)
{
    struct look look = {survey, phases};
    struct gait_query query = {.size = sizeof query,
                               .kinds = 1u << GAIT_KIND_SPAN | 1u << GAIT_KIND_STEP |
                                        1u << GAIT_KIND_MEMORY};
    int status = prepare(survey, trace);
    if (!status)
        status =
            gait_scan(trace, &query, GAIT_COLUMN_START | GAIT_COLUMN_DURATION | GAIT_COLUMN_SITE,
                      look_at, &look);
    query.kinds = 1u << GAIT_KIND_ASYNC;
    if (!status)
        status =
            gait_scan(trace, &query,
                      GAIT_COLUMN_START | GAIT_COLUMN_DURATION | GAIT_COLUMN_SITE | GAIT_COLUMN_ID,
                      take_async, &look);
    if (!status && survey->async_count)
        qsort(survey->asyncs, survey->async_count, sizeof *survey->asyncs, by_shard);
    if (!status)
        drop_spares(survey, &look, trace);
    return status;
}

void torch_survey_finish(struct torch_survey *survey)
{
    if (!survey)
        return;
    free(survey->asyncs);
    free(survey->tracks);
    free(survey->shards);
    free(survey->shard_of);
    *survey = (struct torch_survey){.track_count = 0};
}

bool torch_survey_has_facts(const struct torch_survey *survey)
{
    for (uint32_t i = 0; i < survey->track_count; i++) {
        const struct torch_survey_track *track = &survey->tracks[i];
        if (track->optimizers || track->backwards || track->forwards || track->inputs)
            return true;
    }
    return false;
}

// Whether nothing in the run learns: then running a model is all that steps can be.
static bool has_only_forwards(const struct torch_survey *survey)
{
    for (uint32_t i = 0; i < survey->track_count; i++) {
        const struct torch_survey_track *track = &survey->tracks[i];
        if (track->marked_steps || track->optimizers || track->backwards)
            return false;
    }
    return true;
}

// More of the first thing that one of them has at all.
static bool makes_more(const struct torch_survey_track *a, const struct torch_survey_track *b)
{
    if (a->marked_steps || b->marked_steps)
        return a->marked_steps > b->marked_steps;
    if (a->optimizers || b->optimizers)
        return a->optimizers > b->optimizers;
    return a->backwards > b->backwards;
}

bool torch_survey_stepper(const struct torch_survey *survey, uint32_t shard, uint32_t *ret_track)
{
    const struct torch_survey_track nobody = {.optimizers = 0}, *most = &nobody;
    const bool by_forwards = has_only_forwards(survey);
    for (uint32_t i = 0; i < survey->track_count; i++) {
        const struct torch_survey_track *track = &survey->tracks[i];
        bool is_more = by_forwards ? track->forwards > most->forwards : makes_more(track, most);
        if (survey->shard_of[i] != shard || !is_more)
            continue;
        most = &survey->tracks[i];
        *ret_track = i;
    }
    return most != &nobody;
}
