// SPDX-License-Identifier: Apache-2.0
// What makes a rank's steps is worked out as soon as its shard was read, so that the facts
// of one shard a thread are in memory, whatever the number of ranks. Whether processes that
// only run a model make steps is known when all were read: their facts wait.
#include "analyse/job/torch_ranks.h"

#include <stdlib.h>

#include "analyse/steps/shard_facts.h"
#include "base/array.h"
#include "base/fail.h"
#include "facts/facts.h"
#include "load/site_role.h"

enum { MOST_MARKS = 1 << 25, MOST_RANKS = 1 << 20 };

// A process that runs a model, in a run in which nothing may learn.
struct pending_rank {
    struct rank_source source;
    struct step_clock clock;
};

// What is gathered of one shard, and what it gave.
struct part {
    struct torch_ranks *ranks;
    struct pass_shard shard;
    struct shard_facts facts;
    struct step_clock *clocks; // of its tracks
    struct step_row *marked;   // of all its tracks
    size_t marked_count, marked_capacity;
    struct rank_steps steps;
    struct pending_rank pending;
    struct hook_facts main_facts;
    bool has_steps, is_pending, has_main;
    bool is_full; // its facts did not fit into memory
};

void torch_ranks_init(struct torch_ranks *ranks, struct inventory *survey)
{
    *ranks =
        (struct torch_ranks){.survey = survey, .main_track = TORCH_NO_TRACK, .first = SIZE_MAX};
    hook_facts_init(&ranks->main_facts);
}

static void finish_pending(struct pending_rank *pending)
{
    hook_facts_finish(&pending->source.facts);
    step_clock_finish(&pending->clock);
}

void torch_ranks_finish(struct torch_ranks *ranks)
{
    if (!ranks)
        return;
    for (size_t i = 0; i < ranks->count; i++)
        rank_steps_finish(&ranks->rows[i]);
    for (size_t i = 0; i < ranks->pending_count; i++)
        finish_pending(&ranks->pending[i]);
    hook_facts_finish(&ranks->main_facts);
    free(ranks->rows);
    free(ranks->pending);
    *ranks = (struct torch_ranks){.count = 0};
}

// --- one shard ------------------------------------------------------------------------

static int begin(void *opaque, const struct pass_shard *shard, void *answer)
{
    struct part *part = opaque;
    part->ranks = answer;
    part->shard = *shard;
    part->clocks = calloc((size_t)shard->track_count + 1, sizeof *part->clocks);
    if (!part->clocks)
        return rank_steps_no_memory();
    return shard_facts_init(&part->facts, part->ranks->survey, shard, SHARD_FACTS_ALL);
}

static int add_marked(struct part *part, const struct gait_batch *batch)
{
    int status = ARRAY_RESERVE(part->marked, part->marked_capacity,
                               part->marked_count + batch->rows, MOST_MARKS);
    for (size_t i = 0; !status && i < batch->rows; i++) {
        int64_t end;
        if (batch->duration_ns[i] < 0 ||
            __builtin_add_overflow(batch->start_ns[i], batch->duration_ns[i], &end))
            continue;
        part->marked[part->marked_count++] = (struct step_row){.start_ns = batch->start_ns[i],
                                                               .duration_ns = batch->duration_ns[i],
                                                               .number = batch->id[i],
                                                               .track = batch->track};
    }
    return status;
}

// Without these facts the rest of a report is still worth having.
static int note_full(struct part *part, int status)
{
    if (status != GAIT_ERR_MEMORY)
        return status;
    fail_clear();
    part->is_full = true;
    return GAIT_OK;
}

// The steps that a profiler numbered, as if the program had marked them.
static int add_numbered(struct part *part, const struct gait_batch *batch)
{
    const struct torch_phases *phases = part->ranks->survey->phases;
    int status = GAIT_OK;
    for (size_t i = 0; !status && i < batch->rows; i++) {
        struct gait_site_info site;
        int64_t end;
        if (torch_phases_hint(phases, batch->site[i]) != HINT_STEP || batch->duration_ns[i] < 0 ||
            __builtin_add_overflow(batch->start_ns[i], batch->duration_ns[i], &end) ||
            gait_trace_site(part->shard.trace, batch->site[i], &site))
            continue;
        status = ARRAY_ADD(part->marked, part->marked_count, part->marked_capacity, MOST_MARKS,
                           &(struct step_row){.start_ns = batch->start_ns[i],
                                              .duration_ns = batch->duration_ns[i],
                                              .number = trace_hint_step(site.name),
                                              .track = batch->track});
    }
    return status;
}

static int take_rows(struct part *part, const struct gait_batch *batch)
{
    if (batch->kind == GAIT_KIND_STEP)
        return add_marked(part, batch);
    if (batch->kind == GAIT_KIND_COUNTER)
        return step_clock_add(&part->clocks[batch->track - part->shard.first_track],
                              part->ranks->survey->phases, batch);
    const bool is_imported = part->ranks->survey->shards[part->shard.shard].is_imported;
    int status = shard_facts_add(&part->facts, batch);
    if (!status && is_imported && batch->kind == GAIT_KIND_SPAN)
        status = add_numbered(part, batch);
    return status;
}

static int add_rows(void *opaque, const struct gait_batch *batch)
{
    struct part *part = opaque;
    return part->is_full ? GAIT_OK : note_full(part, take_rows(part, batch));
}

static int set_source(struct part *part, uint32_t track, struct rank_source *source)
{
    const struct gait_trace *trace = part->shard.trace;
    const struct inventory *survey = part->ranks->survey;
    struct gait_shard_info shard;
    struct process_life life;
    int status = gait_trace_shard(trace, part->shard.shard, &shard);
    if (!status)
        status = process_lives_of_track(&part->ranks->lives, trace, track, &life);
    if (status)
        return status;
    const bool has_rank = shard.rank >= 0 && shard.rank < INT32_MAX;
    *source = (struct rank_source){
        .rank = {.rank = shard.rank,
                 .pid = shard.pid,
                 .track = track,
                 .merge_rank = has_rank ? (uint32_t)shard.rank : (1u << 31) + part->shard.shard,
                 .is_marked = survey->tracks[track].marked_steps > 0,
                 .life = life,
                 .recording = {shard.start_ns, shard.end_ns}},
        .life = {life.start_ns, life.end_ns},
        .keeps_pieces = part->ranks->keeps_pieces,
    };
    status = shard_facts_take(&part->facts, track, &source->facts);
    if (!status && survey->shards[part->shard.shard].is_imported &&
        shard_facts_life(&part->facts, track, &source->life)) {
        source->rank.life.start_ns = source->rank.life.recorded_ns = source->life.start_ns;
        source->rank.life.end_ns = source->life.end_ns;
    }
    return status;
}

// Leaves of the marked steps those of one track, in front.
static size_t keep_track(struct part *part, uint32_t track)
{
    size_t kept = 0;
    for (size_t i = 0; i < part->marked_count; i++)
        if (part->marked[i].track == track)
            part->marked[kept++] = part->marked[i];
    return kept;
}

static int end_stepper(struct part *part, uint32_t track)
{
    struct step_clock *clock = &part->clocks[track - part->shard.first_track];
    struct rank_source source;
    int status = set_source(part, track, &source);
    if (status)
        return status;
    step_clock_settle(clock);
    source.clock = clock;
    source.marked = part->marked;
    source.marked_count = keep_track(part, track);
    part->has_steps = true;
    status = rank_steps_make(&part->steps, &source);
    hook_facts_finish(&source.facts);
    return status;
}

static int end_runner(struct part *part, uint32_t track)
{
    struct step_clock *clock = &part->clocks[track - part->shard.first_track];
    const int status = set_source(part, track, &part->pending.source);
    if (status)
        return status;
    step_clock_settle(clock);
    part->pending.clock = *clock;
    *clock = (struct step_clock){.count = 0};
    part->is_pending = true;
    return GAIT_OK;
}

// A stepper has its facts with its steps.
static int end_main(struct part *part)
{
    const uint32_t track = part->ranks->main_track;
    if (track == TORCH_NO_TRACK || track - part->shard.first_track >= part->shard.track_count ||
        (part->has_steps && part->steps.rank.track == track) ||
        (part->is_pending && part->pending.source.rank.track == track))
        return GAIT_OK;
    part->has_main = true;
    return shard_facts_take(&part->facts, track, &part->main_facts);
}

static int work_out(struct part *part)
{
    const struct inventory *survey = part->ranks->survey;
    const uint32_t shard = part->shard.shard;
    uint32_t track;
    int status = GAIT_OK;
    if (inventory_learns(survey, shard)) {
        if (inventory_stepper(survey, shard, &track))
            status = end_stepper(part, track);
    } else if (inventory_runner(survey, shard, &track)) {
        status = end_runner(part, track);
    }
    return status ? status : end_main(part);
}

static int end(void *opaque)
{
    struct part *part = opaque;
    return part->is_full ? GAIT_OK : note_full(part, work_out(part));
}

static void drop(void *opaque)
{
    struct part *part = opaque;
    for (uint32_t i = 0; part->clocks && i < part->shard.track_count; i++)
        step_clock_finish(&part->clocks[i]);
    free(part->clocks);
    free(part->marked);
    shard_facts_finish(&part->facts);
    if (part->has_steps)
        rank_steps_finish(&part->steps);
    finish_pending(&part->pending);
    hook_facts_finish(&part->main_facts);
}

// --- all shards -------------------------------------------------------------------------

static int by_rank(const void *left, const void *right)
{
    const struct torch_rank *a = &((const struct rank_steps *)left)->rank;
    const struct torch_rank *b = &((const struct rank_steps *)right)->rank;
    if (a->rank != b->rank) // a known one first
        return (uint64_t)a->rank < (uint64_t)b->rank ? -1 : 1;
    return a->track < b->track ? -1 : a->track > b->track;
}

static bool comes_first(const struct rank_steps *a, const struct rank_steps *b)
{
    if (!a->rank.steps != !b->rank.steps)
        return a->rank.steps;
    return by_rank(a, b) < 0;
}

// Only the first rank with steps is asked for more than its rows; and the main thread of a
// run that may turn out to have none.
static void forget(const struct torch_ranks *ranks, struct rank_steps *steps)
{
    if (steps->rank.steps || steps->rank.track != ranks->main_track)
        rank_steps_forget(steps);
}

static void forget_all_but_first(struct torch_ranks *ranks, size_t added)
{
    if (ranks->first == SIZE_MAX) {
        ranks->first = added;
    } else if (comes_first(&ranks->rows[added], &ranks->rows[ranks->first])) {
        forget(ranks, &ranks->rows[ranks->first]);
        ranks->first = added;
    } else {
        forget(ranks, &ranks->rows[added]);
    }
}

static int add_steps(struct torch_ranks *ranks, struct rank_steps *steps)
{
    int status = ARRAY_RESERVE(ranks->rows, ranks->capacity, ranks->count + 1, MOST_RANKS);
    if (status)
        return status;
    ranks->rows[ranks->count] = *steps;
    forget_all_but_first(ranks, ranks->count++);
    return GAIT_OK;
}

static int merge(void *answer, void *opaque)
{
    struct torch_ranks *ranks = answer;
    struct part *part = opaque;
    int status = GAIT_OK;
    ranks->is_full |= part->is_full;
    if (part->has_main) {
        ranks->main_facts = part->main_facts;
        hook_facts_init(&part->main_facts);
    }
    if (part->has_steps) {
        status = add_steps(ranks, &part->steps);
        part->has_steps = status != GAIT_OK;
    }
    if (!status && part->is_pending) {
        status = ARRAY_ADD(ranks->pending, ranks->pending_count, ranks->pending_capacity,
                           MOST_RANKS, &part->pending);
        if (!status)
            part->pending = (struct pending_rank){.clock = {.count = 0}};
    }
    return status;
}

const struct analysis torch_ranks_analysis = {
    .name = "torch ranks",
    .kinds = SHARD_FACTS_KINDS | 1u << GAIT_KIND_STEP | 1u << GAIT_KIND_COUNTER,
    .columns = SHARD_FACTS_COLUMNS | GAIT_COLUMN_ID | GAIT_COLUMN_VALUE,
    .part_bytes = sizeof(struct part),
    .begin = begin,
    .rows = add_rows,
    .end = end,
    .merge = merge,
    .drop = drop,
};

// Where nothing learns, who runs a model makes steps. Otherwise their facts are of use only
// for a run without steps, whose main thread is theirs.
static int settle_pending(struct torch_ranks *ranks)
{
    const bool is_run = ranks->pending_count && !ranks->count;
    int status = GAIT_OK;
    for (size_t i = 0; !status && i < ranks->pending_count; i++) {
        struct pending_rank *pending = &ranks->pending[i];
        struct rank_steps steps;
        if (!is_run && pending->source.rank.track == ranks->main_track) {
            ranks->main_facts = pending->source.facts;
            hook_facts_init(&pending->source.facts);
        }
        if (!is_run)
            continue;
        pending->source.clock = &pending->clock;
        status = rank_steps_make(&steps, &pending->source);
        if (!status)
            status = add_steps(ranks, &steps);
        if (status)
            rank_steps_finish(&steps);
    }
    return status;
}

static int by_birth(const void *left, const void *right)
{
    const struct torch_rank *a = &((const struct rank_steps *)left)->rank;
    const struct torch_rank *b = &((const struct rank_steps *)right)->rank;
    RETURN_IF_APART(a->recording.start_ns, b->recording.start_ns);
    return a->track < b->track ? -1 : a->track > b->track;
}

// Who knows no rank and began when another had ended is no rank beside it: a script
// that trains twice, or a program that became another, goes on with the steps.
static int join_successors(struct torch_ranks *ranks)
{
    bool *has_successor = calloc(ranks->count + 1, sizeof *has_successor);
    if (!has_successor)
        return rank_steps_no_memory();
    for (size_t i = 0; i < ranks->count; i++) {
        struct torch_rank *later = &ranks->rows[i].rank;
        for (size_t k = 0; k < i && later->rank < 0; k++) {
            const struct torch_rank *earlier = &ranks->rows[k].rank;
            if (has_successor[k] || earlier->rank >= 0 ||
                earlier->recording.end_ns > later->recording.start_ns)
                continue;
            has_successor[k] = true;
            later->merge_rank = earlier->merge_rank;
            break;
        }
    }
    free(has_successor);
    return GAIT_OK;
}

int torch_ranks_settle(struct torch_ranks *ranks)
{
    int status = ranks->is_full ? rank_steps_no_memory() : settle_pending(ranks);
    if (status || !ranks->count)
        return status;
    qsort(ranks->rows, ranks->count, sizeof *ranks->rows, by_birth);
    status = join_successors(ranks);
    qsort(ranks->rows, ranks->count, sizeof *ranks->rows, by_rank);
    ranks->first = 0;
    while (ranks->first + 1 < ranks->count && !ranks->rows[ranks->first].rank.steps)
        ranks->first++;
    for (size_t i = 0; i < ranks->count; i++)
        for (size_t k = 0; k < ranks->rows[i].rank.steps; k++)
            ranks->rows[i].rows[k].rank = ranks->rows[i].rank.merge_rank;
    return status;
}

int torch_ranks_read(struct torch_ranks *ranks, struct inventory *survey,
                     struct torch_phases *phases, const struct torch_ranks_wish *wish)
{
    struct gait_trace *trace = wish->trace;
    struct analysis of_ranks = torch_ranks_analysis;
    const struct pass_ask asks[] = {{&inventory_analysis, survey}, {&of_ranks, ranks}};
    if (!site_role_any(trace, ROLE_BIT(ROLE_PHASE)))
        of_ranks.columns &= ~(uint32_t)GAIT_COLUMN_ARGS; // which hooks of gait alone have
    const bool keeps_pieces = ranks->keeps_pieces;
    torch_ranks_init(ranks, survey);
    ranks->keeps_pieces = keeps_pieces;
    int status = torch_phases_init(phases, trace);
    if (!status)
        status = inventory_init(survey, trace, phases);
    if (!status)
        status = facts_run_with(trace, wish->asks, wish->ask_count, asks, 2);
    if (!status && inventory_has_facts(survey))
        return torch_ranks_settle(ranks);
    torch_ranks_finish(ranks);
    return status;
}

const struct hook_facts *torch_ranks_main(const struct torch_ranks *ranks)
{
    for (size_t i = 0; i < ranks->count; i++)
        if (ranks->rows[i].rank.track == ranks->main_track && ranks->rows[i].has_thread)
            return &ranks->rows[i].thread.facts;
    return ranks->main_facts.count ? &ranks->main_facts : NULL;
}
