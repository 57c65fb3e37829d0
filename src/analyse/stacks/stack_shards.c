// SPDX-License-Identifier: Apache-2.0
// Stacks of a recording: equal samples of a track become one. Where a phase is asked for,
// a sample waits for the next one of its thread, which tells how long it lasted.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/ledger/phase_times.h"
#include "analyse/stacks/stack_set.h"
#include "base/array.h"
#include "base/fail.h"
#include "load/shard/clock_map.h"
#include "load/stack_label.h"

#include "vocabulary/metadata.h"

#define RANK_LIMIT (1u << 20)

// A sample that waits for the next one of its thread, which tells how long it lasted.
struct waiting {
    struct stack_sample sample; // weight 0: none waits
    int64_t start_ns;
};

struct taking {
    struct stack_set *set;
    struct run *run;
    const struct stack_rows *stacks;
    uint32_t *numbers;   // of the set's frames + 1, by stack id
    uint32_t **by_track; // of a place, by track: entries + 1 by stack id; equal samples become one
    const struct phase_times *places; // that are asked for, NULL: all there is
    unsigned place_count;             // 1 of all there is
    struct waiting *waiting;          // of a track
    size_t track_count;
    const char *host;
    const char *process; // whom it is about, where its stacks do not say
    double period_ns;
    int64_t rank;
};

static int frame_of_site(struct taking *taking, uint32_t stack, uint32_t *ret_id)
{
    const struct stack_row *row = &taking->stacks->rows[stack];
    const struct gait_site_info *site = &taking->run->sites.sites[row->site];
    struct stack_frame frame = {intern_text(&taking->set->texts, slice_of(site->name)),
                                intern_text(&taking->set->texts, slice_of(site->file)),
                                (int32_t)row->line, stack_rows_owner(site)};
    return stack_set_number(taking->set, &frame, ret_id);
}

static const char *track_words(struct stack_set *set, const struct gait_track_info *info)
{
    char words[300];
    const int used = snprintf(words, sizeof words, "%lld%s%.200s", (long long)info->tid,
                              *info->name ? " " : "", info->name);
    const char *text = intern_text(&set->texts, (struct slice){(uint8_t *)words, (size_t)used});
    return text ? text : "";
}

static int add_stack(struct taking *taking, const struct stack_sample *sample, unsigned place)
{
    struct stack_set *set = taking->set;
    struct stack_entry entry = {.first = set->id_count,
                                .count = sample->weight,
                                .process = taking->process,
                                .thread = "",
                                .place = place};
    for (uint32_t at = sample->stack; at && entry.depth < STACK_DEPTH_LIMIT;
         at = taking->stacks->rows[at].parent) {
        uint32_t id = 0;
        int status = taking->numbers[at] ? 0 : frame_of_site(taking, at, &id);
        if (status == 0 && !taking->numbers[at])
            taking->numbers[at] = id + 1;
        if (status == 0)
            status = stack_set_push_id(set, taking->numbers[at] - 1);
        if (status)
            return status;
        if (set->frames[taking->numbers[at] - 1].kind == FRAME_PROCESS)
            entry.process = set->frames[taking->numbers[at] - 1].name;
        entry.depth++;
    }
    for (size_t low = entry.first, high = set->id_count - 1; low < high; low++, high--) {
        const uint32_t id = set->ids[low];
        set->ids[low] = set->ids[high];
        set->ids[high] = id;
    }
    const struct track *track = &taking->run->tracks.tracks[sample->track];
    entry.rank = taking->rank;
    entry.host = intern_text(&set->texts, slice_of(taking->host));
    entry.thread = track_words(set, &track->info);
    entry.count = stack_set_take(set, entry.count);
    return stack_set_push(set, &entry);
}

static int take_at(struct taking *taking, const struct stack_sample *sample, unsigned place)
{
    if (!sample->stack || sample->stack >= taking->stacks->count || !sample->weight)
        return 0;
    uint32_t **slots = &taking->by_track[place * taking->track_count + sample->track];
    if (!*slots)
        *slots = calloc(taking->stacks->count, sizeof **slots);
    if (!*slots)
        return fail(GAIT_ERR_MEMORY, "no memory for stacks");
    const uint64_t before = taking->set->samples;
    int status = 0;
    if ((*slots)[sample->stack])
        taking->set->entries[(*slots)[sample->stack] - 1].count +=
            stack_set_take(taking->set, sample->weight);
    else
        status = add_stack(taking, sample, place);
    if (status)
        return status;
    if (!(*slots)[sample->stack])
        (*slots)[sample->stack] = (uint32_t)taking->set->entry_count;
    if (sample_word_state(sample->state) == SAMPLE_BLOCKED)
        taking->set->blocked += taking->set->samples - before;
    return 0;
}

static int take_sample(void *context, const struct stack_sample *sample)
{
    return sample_word_has(sample->state, SAMPLE_ASIDE) ? 0 : take_at(context, sample, 0);
}

static int64_t later(int64_t start_ns, double ns)
{
    int64_t sum;
    return __builtin_add_overflow(start_ns, (int64_t)fmin(ns, 1e18), &sum) ? INT64_MAX : sum;
}

// When its rounds were. They come at random times, and the first is a little later than
// its time where the sampler had to wait: standard errors are taken off at either end,
// for a border of a phase mostly changes the stack, so it lies outside.
static struct phase_looks looks_of(const struct taking *taking, const struct waiting *waiting,
                                   int64_t next_ns)
{
    const uint64_t count = waiting->sample.weight;
    const double rounds = (double)count, period = taking->period_ns;
    const double apart = (double)next_ns - (double)waiting->start_ns;
    const double length = fmax(fmin(apart, rounds * period) - period, 0);
    const double error = count > 1 ? sqrt(rounds) * period : 0, first = fmin(error, length / 3);
    const double last = fmax(length - 2 * error, first);
    return (struct phase_looks){later(waiting->start_ns, first), later(waiting->start_ns, last),
                                count};
}

// Adds those of the waiting sample's rounds that were in a place.
static int settle(struct taking *taking, struct waiting *waiting, int64_t next_ns)
{
    struct stack_sample sample = waiting->sample;
    int status = 0;
    if (!sample.weight)
        return 0;
    const struct phase_looks looks = looks_of(taking, waiting, next_ns);
    const int64_t tid = taking->run->tracks.tracks[sample.track].info.tid;
    for (unsigned i = 0; i < taking->place_count && status == 0; i++) {
        sample.weight =
            phase_times_hit(phase_times_of(&taking->places[i], taking->host, tid), &looks);
        status = sample.weight ? take_at(taking, &sample, i) : 0;
    }
    waiting->sample.weight = 0;
    return status;
}

static int take_timed(void *context, const struct stack_sample *sample)
{
    struct taking *taking = context;
    if (sample->track >= taking->track_count)
        return 0;
    struct waiting *waiting = &taking->waiting[sample->track];
    const int64_t start_ns =
        clock_map_ns(taking->run->tracks.tracks[sample->track].map, sample->tick);
    int status = settle(taking, waiting, start_ns);
    *waiting = (struct waiting){*sample, start_ns};
    return status;
}

static int take_all_timed(struct taking *taking, uint32_t index)
{
    int status = stack_rows_samples(taking->run, index, take_timed, taking);
    for (size_t i = 0; i < taking->track_count && status == 0; i++)
        status = settle(taking, &taking->waiting[i], INT64_MAX);
    return status;
}

// As stacks of several processes name theirs. Who recorded one alone is asked for it too.
static const char *process_words(struct stack_set *set, const struct run_shard *shard)
{
    const char *program = dictionary_meta(&shard->dictionary, meta.program); // in quotes: JSON
    char words[300];
    const int used = snprintf(words, sizeof words, "process %lld:%.200s",
                              (long long)shard->info.subject_pid, program ? program : "\"\"");
    const char *text =
        shard->info.subject_pid > 0
            ? intern_text(&set->texts, (struct slice){(uint8_t *)words, (size_t)used})
            : NULL;
    return text ? text : "";
}

static int add_shard(struct stack_set *set, struct run *run, uint32_t index,
                     const struct phase_times *places, unsigned place_count)
{
    struct stack_rows stacks;
    int status = stack_rows_load(&stacks, run, index);
    if (status)
        return status;
    // reading samples may make up tracks, one a frame at most
    const size_t tracks = run->tracks.count + run->shards[index]->shard.list.count;
    struct taking taking = {.set = set,
                            .run = run,
                            .stacks = &stacks,
                            .numbers = calloc(stacks.count + 1, sizeof(uint32_t)),
                            .by_track = calloc(tracks * place_count + 1, sizeof(uint32_t *)),
                            .places = places,
                            .place_count = place_count,
                            .waiting = calloc(places ? tracks + 1 : 1, sizeof(struct waiting)),
                            .track_count = tracks,
                            .host = run->shards[index]->info.host,
                            .process = process_words(set, run->shards[index]),
                            .period_ns = stack_rows_period(run->shards[index]),
                            .rank = run->shards[index]->info.rank};
    if (!taking.numbers || !taking.by_track || !taking.waiting)
        status = fail(GAIT_ERR_MEMORY, "no memory for stacks");
    else
        status = places ? take_all_timed(&taking, index)
                        : stack_rows_samples(run, index, take_sample, &taking);
    for (size_t i = 0; taking.by_track && i < tracks * place_count; i++)
        free(taking.by_track[i]);
    free(taking.waiting);
    free(taking.by_track);
    free(taking.numbers);
    stack_rows_finish(&stacks);
    return status;
}

static int add_ranks(struct stack_set *set, const struct run *run)
{
    int status = 0;
    for (uint32_t i = 0; i < run->shard_count && status == 0; i++) {
        const struct gait_shard_info *info = &run->shards[i]->info;
        if (info->rank < 0)
            continue;
        status = ARRAY_ADD(set->ranks, set->rank_count, set->rank_capacity, RANK_LIMIT,
                           &(struct stack_rank){intern_text(&set->texts, slice_of(info->host)),
                                                info->pid, info->rank});
    }
    return status;
}

static int64_t rank_of(const struct stack_set *set, const struct stack_entry *entry)
{
    if (entry->rank >= 0 || !entry->host || !*entry->process)
        return entry->rank;
    const int64_t pid = stack_label_pid(entry->process);
    for (size_t i = 0; i < set->rank_count; i++)
        if (set->ranks[i].pid == pid && set->ranks[i].host == entry->host)
            return set->ranks[i].rank;
    return -1;
}

void stack_set_settle_ranks(struct stack_set *set)
{
    for (size_t i = 0; i < set->entry_count && set->rank_count; i++)
        set->entries[i].rank = rank_of(set, &set->entries[i]);
}

int stack_set_add_run(struct stack_set *set, struct run *run)
{
    int status = add_ranks(set, run);
    for (uint32_t i = 0; i < run->shard_count && status == 0; i++)
        status = add_shard(set, run, i, NULL, 1);
    return status;
}

int stack_set_add_places(struct stack_set *set, struct gait_trace *trace,
                         const struct phase_times *places, unsigned count)
{
    int status = add_ranks(set, &trace->run);
    for (uint32_t i = 0; i < trace->run.shard_count && status == 0; i++)
        status = add_shard(set, &trace->run, i, places, count);
    stack_set_settle_ranks(set);
    return status;
}

int stack_set_add_phase(struct stack_set *set, struct gait_trace *trace, const char *phase)
{
    struct phase_times times;
    int status = phase_times_find(&times, trace, phase);
    if (status)
        return status;
    status = stack_set_add_places(set, trace, &times, 1);
    phase_times_finish(&times);
    return status;
}
