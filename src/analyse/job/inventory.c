// SPDX-License-Identifier: Apache-2.0
// Sites and lengths only, no arguments: this pass meets every op of every window.
#include "analyse/job/inventory.h"

#include <stdlib.h>

#include "analyse/steps/trace_facts.h"
#include "base/array.h"
#include "base/fail.h"
#include "vocabulary/metadata.h"

enum { MOST_ASYNCS = 1 << 24 };

// A begin or an end, as it stands in the file.
struct async_row {
    int64_t at_ns;
    uint64_t id;
    size_t place; // among those of the shard
    uint32_t site;
    bool is_end;
};

struct look {
    struct inventory *survey;
    const struct gait_trace *trace;
    uint32_t shard;
    struct async_row *rows;
    size_t count, capacity;
};

int inventory_init(struct inventory *survey, const struct gait_trace *trace,
                   const struct torch_phases *phases)
{
    *survey = (struct inventory){.phases = phases,
                                 .track_count = gait_trace_track_count(trace),
                                 .shard_count = gait_trace_shard_count(trace),
                                 .keeps_spares = inventory_spare(trace)};
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

static int begin(void *part, const struct pass_shard *shard, void *answer)
{
    struct look *look = part;
    struct inventory *survey = answer;
    *look = (struct look){.survey = survey, .trace = shard->trace, .shard = shard->shard};
    survey->shards[shard->shard].first_track = shard->first_track;
    survey->shards[shard->shard].track_count = shard->track_count;
    survey->shards[shard->shard].is_imported =
        gait_trace_metadata(shard->trace, shard->shard, meta.import) != NULL;
    return GAIT_OK;
}

static void look_at_hint(struct inventory_track *track, unsigned hint)
{
    track->marked_steps += hint == HINT_STEP;
    track->optimizers += hint == HINT_OPTIMIZER;
    track->inputs += hint == HINT_INPUT;
}

static void look_at_span(const struct look *look, const struct gait_batch *batch, size_t row)
{
    struct inventory *survey = look->survey;
    struct inventory_shard *shard = &survey->shards[look->shard];
    struct inventory_track *track = &survey->tracks[batch->track];
    uint64_t length = batch->duration_ns[row] > 0 ? (uint64_t)batch->duration_ns[row] : 0;
    uint32_t site = batch->site[row];
    enum role role = torch_phases_role(survey->phases, site);
    shard->events[role] += role != ROLE_MEMORY; // which is counted by the kind of its rows
    if (role == ROLE_FETCH)
        shard->fetch_ns += length;
    if (role == ROLE_COLLATE)
        shard->collate_ns += length;
    if (shard->is_imported)
        look_at_hint(track, torch_phases_hint(survey->phases, site));
    if (role != ROLE_PHASE)
        return;
    unsigned phase = survey->phases->site_phases[site];
    track->optimizers += phase == TORCH_OPTIMIZER;
    track->backwards += phase == TORCH_BACKWARD;
    track->forwards += phase == TORCH_FORWARD;
    track->inputs += phase == TORCH_INPUT;
    track->compiles += phase == TORCH_COMPILE;
}

// Ops that begin on one thread and end on another are only counted.
static int look_at_async(struct look *look, const struct gait_batch *batch, size_t row)
{
    const enum role role = torch_phases_role(look->survey->phases, batch->site[row]);
    const bool is_end = batch->phase[row] != 0;
    if (role != ROLE_PHASE && role != ROLE_MEMORY && !is_end)
        look->survey->shards[look->shard].events[role]++;
    if (role != ROLE_WINDOW && role != ROLE_PHASE)
        return GAIT_OK;
    int status = ARRAY_RESERVE(look->rows, look->capacity, look->count + 1, MOST_ASYNCS);
    if (status)
        return status;
    look->rows[look->count] = (struct async_row){batch->start_ns[row], batch->id[row], look->count,
                                                 batch->site[row], is_end};
    look->count++;
    return GAIT_OK;
}

static int look_at(void *part, const struct gait_batch *batch)
{
    struct look *look = part;
    struct inventory *survey = look->survey;
    int status = GAIT_OK;
    if (batch->kind == GAIT_KIND_MEMORY)
        survey->shards[look->shard].events[ROLE_MEMORY] += batch->rows;
    for (size_t row = 0; !status && row < batch->rows; row++) {
        if (batch->kind == GAIT_KIND_STEP)
            survey->tracks[batch->track].marked_steps += batch->duration_ns[row] >= 0;
        else if (batch->kind == GAIT_KIND_SPAN)
            look_at_span(look, batch, row);
        else if (batch->kind == GAIT_KIND_ASYNC)
            status = look_at_async(look, batch, row);
    }
    return status;
}

static int by_key_and_time(const void *left, const void *right)
{
    const struct async_row *a = left, *b = right;
    RETURN_IF_APART(a->site, b->site);
    RETURN_IF_APART(a->id, b->id);
    RETURN_IF_APART(a->at_ns, b->at_ns);
    return a->place < b->place ? -1 : a->place > b->place;
}

ARRAY_BY2(by_start, struct torch_async, start_ns, id)

// An end closes the latest open begin of its site and id: rows of one key stand together,
// and `open` is a stack of their begins, in the asyncs that were not closed yet.
static size_t pair(const struct look *look, struct torch_async *asyncs, size_t *open)
{
    size_t count = 0, depth = 0;
    for (size_t i = 0; i < look->count; i++) {
        const struct async_row *row = &look->rows[i];
        if (i && (row->site != row[-1].site || row->id != row[-1].id))
            depth = 0;
        if (row->is_end && depth) {
            struct torch_async *async = &asyncs[open[--depth]];
            if (__builtin_sub_overflow(row->at_ns, async->start_ns, &async->duration_ns))
                async->duration_ns = INT64_MAX;
        } else if (!row->is_end) {
            open[depth++] = count;
            asyncs[count++] = (struct torch_async){row->at_ns, -1, row->id, row->site};
        }
    }
    return count;
}

// The first window of a process under `gait run --profile` is there for programs that
// make no step. Where one was made it is as if it had not been.
static void drop_spares(struct inventory_shard *shard, const struct torch_phases *phases)
{
    size_t kept = 0;
    for (size_t i = 0; i < shard->async_count; i++) {
        const struct torch_async async = shard->asyncs[i];
        int64_t end_ns;
        if (async.id == 1 && torch_phases_role(phases, async.site) == ROLE_WINDOW &&
            async.duration_ns >= 0 &&
            !__builtin_add_overflow(async.start_ns, async.duration_ns, &end_ns))
            shard->ops_since_ns = end_ns;
        else
            shard->asyncs[kept++] = async;
    }
    shard->async_count = kept;
}

static int end(void *part)
{
    struct look *look = part;
    struct inventory_shard *shard = &look->survey->shards[look->shard];
    size_t *open = malloc((look->count + 1) * sizeof *open);
    shard->asyncs = malloc((look->count + 1) * sizeof *shard->asyncs);
    if (!open || !shard->asyncs) {
        free(open);
        return fail(GAIT_ERR_MEMORY, "no memory for %zu windows", look->count);
    }
    ARRAY_SORT(look->rows, look->count, by_key_and_time);
    shard->async_count = pair(look, shard->asyncs, open);
    free(open);
    ARRAY_SORT(shard->asyncs, shard->async_count, by_start);
    if (!look->survey->keeps_spares &&
        gait_trace_metadata(look->trace, look->shard, meta.spare_window))
        drop_spares(shard, look->survey->phases);
    return GAIT_OK;
}

static void drop(void *part)
{
    free(((struct look *)part)->rows);
}

const struct analysis inventory_analysis = {
    .name = "torch survey",
    .kinds = 1u << GAIT_KIND_SPAN | 1u << GAIT_KIND_STEP | 1u << GAIT_KIND_MEMORY |
             1u << GAIT_KIND_ASYNC,
    .columns = GAIT_COLUMN_START | GAIT_COLUMN_DURATION | GAIT_COLUMN_SITE | GAIT_COLUMN_ID |
               GAIT_COLUMN_PHASE,
    .part_bytes = sizeof(struct look),
    .begin = begin,
    .rows = look_at,
    .end = end,
    .drop = drop,
};

int inventory_make(struct inventory *survey, struct gait_trace *trace,
                   const struct torch_phases *phases)
{
    const struct pass_ask ask = {&inventory_analysis, survey};
    const int status = inventory_init(survey, trace, phases);
    return status ? status : pass_run(trace, &ask, 1);
}

enum spare_window inventory_spare(const struct gait_trace *trace)
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

void inventory_finish(struct inventory *survey)
{
    if (!survey)
        return;
    for (uint32_t i = 0; survey->shards && i < survey->shard_count; i++)
        free(survey->shards[i].asyncs);
    free(survey->tracks);
    free(survey->shards);
    free(survey->shard_of);
    *survey = (struct inventory){.track_count = 0};
}

bool inventory_has_facts(const struct inventory *survey)
{
    for (uint32_t i = 0; i < survey->track_count; i++) {
        const struct inventory_track *track = &survey->tracks[i];
        if (track->optimizers || track->backwards || track->forwards || track->inputs)
            return true;
        if (track->marked_steps && survey->shards[survey->shard_of[i]].is_imported)
            return true;
    }
    return false;
}

bool inventory_learns(const struct inventory *survey, uint32_t shard)
{
    const struct inventory_shard *own = &survey->shards[shard];
    for (uint32_t i = 0; i < own->track_count; i++) {
        const struct inventory_track *track = &survey->tracks[own->first_track + i];
        if (track->marked_steps || track->optimizers || track->backwards)
            return true;
    }
    return false;
}

// More of the first thing that one of them has at all.
static bool makes_more(const struct inventory_track *a, const struct inventory_track *b)
{
    if (a->marked_steps || b->marked_steps)
        return a->marked_steps > b->marked_steps;
    if (a->optimizers || b->optimizers)
        return a->optimizers > b->optimizers;
    return a->backwards > b->backwards;
}

static bool runs_more(const struct inventory_track *a, const struct inventory_track *b)
{
    return a->forwards > b->forwards;
}

static bool find_most(const struct inventory *survey, uint32_t shard, uint32_t *ret_track,
                      bool (*is_more)(const struct inventory_track *a,
                                      const struct inventory_track *b))
{
    const struct inventory_track nobody = {.optimizers = 0}, *most = &nobody;
    const struct inventory_shard *own = &survey->shards[shard];
    for (uint32_t i = 0; i < own->track_count; i++) {
        const struct inventory_track *track = &survey->tracks[own->first_track + i];
        if (!is_more(track, most))
            continue;
        most = track;
        *ret_track = own->first_track + i;
    }
    return most != &nobody;
}

bool inventory_runner(const struct inventory *survey, uint32_t shard, uint32_t *ret_track)
{
    return find_most(survey, shard, ret_track, runs_more);
}

bool inventory_stepper(const struct inventory *survey, uint32_t shard, uint32_t *ret_track)
{
    if (inventory_learns(survey, shard))
        return find_most(survey, shard, ret_track, makes_more);
    for (uint32_t i = 0; i < survey->shard_count; i++)
        if (inventory_learns(survey, i))
            return false;
    return inventory_runner(survey, shard, ret_track);
}
