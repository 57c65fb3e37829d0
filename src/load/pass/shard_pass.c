// SPDX-License-Identifier: Apache-2.0
// A frame is decoded with the columns of all who want it, then shown to each.
// While it is read a shard keeps its damage to itself, so that threads share nothing
// that changes.
#include "load/pass/shard_pass.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "load/shard_owner.h"

// Texts of one shard's damage.
#define DAMAGE_BYTES ((size_t)64 << 20)

int shard_pass_init(struct shard_pass *pass, struct gait_trace *trace, const struct pass_ask *asks,
                    size_t count)
{
    *pass = (struct shard_pass){.trace = trace, .asks = asks, .count = count};
    while (pass->reader < count && !asks[pass->reader].analysis->read)
        pass->reader++;
    event_frame_init(&pass->frame);
    arg_list_init(&pass->batch.args.list);
    return event_decoder_init(&pass->decoder);
}

void shard_pass_finish(struct shard_pass *pass)
{
    event_decoder_finish(&pass->decoder);
    event_frame_finish(&pass->frame);
    batch_finish(&pass->batch);
}

void shard_answer_drop(struct shard_answer *answer, const struct shard_pass *pass)
{
    for (size_t i = 0; i < pass->count; i++) {
        const struct analysis *analysis = pass->asks[i].analysis;
        if (answer->parts[i] && analysis->drop)
            analysis->drop(answer->parts[i]);
        if (answer->parts[i])
            memset(answer->parts[i], 0, analysis->part_bytes);
    }
    damage_finish(&answer->damage);
    arena_finish(&answer->arena);
}

void shard_answer_finish(struct shard_answer *answer, const struct shard_pass *pass)
{
    shard_answer_drop(answer, pass);
    for (size_t i = 0; i < pass->count; i++)
        free(answer->parts[i]);
    *answer = (struct shard_answer){.shard = 0};
}

static int begin_answer(struct shard_answer *answer, const struct shard_pass *pass,
                        const struct pass_shard *shard)
{
    arena_init(&answer->arena, DAMAGE_BYTES);
    damage_init(&answer->damage, &answer->arena);
    for (size_t i = 0; i < pass->count; i++) {
        if (!answer->parts[i])
            answer->parts[i] = calloc(1, pass->asks[i].analysis->part_bytes + 1);
        if (!answer->parts[i])
            return fail(GAIT_ERR_MEMORY, "no memory for a part of an answer");
    }
    for (size_t i = 0; i < pass->count; i++) {
        const struct pass_ask *ask = &pass->asks[i];
        const int status =
            ask->analysis->begin ? ask->analysis->begin(answer->parts[i], shard, ask->answer) : 0;
        if (status)
            return status;
    }
    return 0;
}

static bool wants(const struct shard_pass *pass, const struct shard_answer *answer, size_t ask,
                  enum gait_kind kind, uint32_t track)
{
    const struct analysis *analysis = pass->asks[ask].analysis;
    if (!(analysis->kinds & 1u << kind) || (pass->is_owned && !analysis->has_owned))
        return false;
    if (analysis->wants)
        return analysis->wants(answer->parts[ask], kind, track);
    return !pass->trace->run.tracks.tracks[track].info.internal;
}

// Who wants rows of that kind and track, as bits, and which columns they ask for.
static uint32_t find_askers(const struct shard_pass *pass, const struct shard_answer *answer,
                            enum gait_kind kind, uint32_t track, uint32_t *ret_columns)
{
    uint32_t askers = 0;
    *ret_columns = 0;
    for (size_t i = 0; i < pass->count; i++) {
        if (!wants(pass, answer, i, kind, track))
            continue;
        askers |= 1u << i;
        *ret_columns |= pass->asks[i].analysis->columns;
    }
    return askers;
}

static int show(struct shard_pass *pass, const struct shard_answer *answer, uint32_t askers)
{
    int status = 0;
    for (size_t i = 0; !status && pass->batch.rows && i < pass->count; i++) {
        struct gait_batch batch;
        if (!(askers & 1u << i))
            continue;
        batch_show(&pass->batch, pass->asks[i].analysis->columns, &batch);
        status = pass->asks[i].analysis->rows(answer->parts[i], &batch);
    }
    return status;
}

static int show_frame(struct shard_pass *pass, const struct shard_answer *answer,
                      const struct run_shard *shard, struct event_frame *frame)
{
    uint32_t columns;
    const uint32_t askers = find_askers(pass, answer, frame->table->kind, frame->track, &columns);
    if (!askers)
        return 0;
    const int status = batch_load_all(&pass->batch, frame, columns);
    pass->batch.args.dictionary = &shard->dictionary;
    return status ? status : show(pass, answer, askers);
}

static int read_frame(struct shard_pass *pass, const struct shard_answer *answer,
                      struct run_shard *shard, size_t frame)
{
    const struct frame_entry *entry = &shard->shard.list.entries[frame];
    const struct event_table *table = event_table_of(entry->table);
    uint32_t columns;
    if (!table || !shard_has_frame(&shard->shard, frame) ||
        (table->kind == GAIT_KIND_SPAN && pass->reader < pass->count))
        return 0;
    const uint32_t track = id_map_get(&shard->dictionary.tracks, entry->track) - 1;
    if (!find_askers(pass, answer, table->kind, track, &columns))
        return 0;
    const struct event_ask ask = {.shard = shard,
                                  .tracks = &pass->trace->run.tracks,
                                  .frame = frame,
                                  .roles = batch_roles(table, columns)};
    const int status = event_frame_decode(&pass->frame, &pass->decoder, &ask);
    if (status)
        return status == GAIT_ERR_FORMAT ? 0 : status;
    return show_frame(pass, answer, shard, &pass->frame);
}

// The events from `first` on that share track and kind, and were open at the end.
static int read_open_group(struct shard_pass *pass, const struct shard_answer *answer,
                           const struct run_shard *shard, size_t first, size_t end)
{
    const struct open_event *event = &shard->open.events[first];
    uint32_t columns;
    const enum gait_kind kind = event->is_step ? GAIT_KIND_STEP : GAIT_KIND_SPAN;
    const uint32_t askers = find_askers(pass, answer, kind, event->track, &columns);
    if (!askers)
        return 0;
    int status = batch_begin(&pass->batch, end - first);
    if (status)
        return status;
    pass->batch.kind = kind;
    pass->batch.track = event->track;
    pass->batch.args.dictionary = &shard->dictionary;
    for (size_t i = first; i < end; i++)
        batch_add_open(&pass->batch, &shard->open.events[i]);
    return show(pass, answer, askers);
}

static int read_open(struct shard_pass *pass, const struct shard_answer *answer,
                     const struct run_shard *shard)
{
    int status = 0;
    for (size_t i = 0, end; !status && i < shard->open.count; i = end) {
        end = open_events_group(&shard->open, i);
        status = read_open_group(pass, answer, shard, i, end);
    }
    return status;
}

static int read_frames(struct shard_pass *pass, struct shard_answer *answer,
                       struct run_shard *shard)
{
    struct damage *damage = shard->shard.damage;
    int status = 0;
    shard->shard.damage = &answer->damage;
    for (size_t i = 0; !status && i < shard->shard.list.count; i++)
        status = read_frame(pass, answer, shard, i);
    if (!status)
        status = read_open(pass, answer, shard);
    shard->shard.damage = damage;
    return status;
}

static int read_owned(struct shard_pass *pass, struct shard_answer *answer)
{
    const struct run *run = &pass->trace->run;
    int status = 0;
    pass->is_owned = true;
    for (uint32_t i = shard_owned_first(run, answer->shard); !status && i != RUN_NO_SHARD;
         i = shard_owned_next(run, i))
        status = read_frames(pass, answer, run->shards[i]);
    pass->is_owned = false;
    return status;
}

static void move_damage(const struct run *run, uint32_t shard, struct damage *to)
{
    run->shards[shard]->shard.damage = to;
    for (uint32_t i = shard_owned_first(run, shard); i != RUN_NO_SHARD;
         i = shard_owned_next(run, i))
        run->shards[i]->shard.damage = to;
}

// A frame that the reader decoded.
static int show_tapped(void *context, uint32_t shard, struct event_frame *frame)
{
    struct shard_pass *pass = context;
    pass->is_owned = shard != pass->answer->shard;
    const int status = show_frame(pass, pass->answer, pass->trace->run.shards[shard], frame);
    pass->is_owned = false;
    return status;
}

static int let_read(struct shard_pass *pass, struct shard_answer *answer, struct pass_shard *view)
{
    struct run *run = &pass->trace->run;
    const struct pass_ask *reader = &pass->asks[pass->reader];
    uint32_t columns = 0;
    if (pass->reader == pass->count)
        return 0;
    for (size_t i = 0; i < pass->count; i++)
        if (pass->asks[i].analysis->kinds & 1u << GAIT_KIND_SPAN)
            columns |= pass->asks[i].analysis->columns;
    const struct pass_tap tap = {batch_roles(event_table_of(TABLE_SPAN), columns), pass,
                                 show_tapped};
    view->tap = columns ? &tap : NULL;
    pass->answer = answer;
    move_damage(run, answer->shard, &answer->damage);
    const int status = reader->analysis->read(answer->parts[pass->reader], view, reader->answer);
    move_damage(run, answer->shard, &run->damage);
    view->tap = NULL;
    return status;
}

static int read_shard(struct shard_pass *pass, struct shard_answer *answer, struct run_shard *shard)
{
    const struct run *run = &pass->trace->run;
    const uint32_t first = (uint32_t)shard->dictionary.first_track;
    const size_t behind = answer->shard + 1 < run->shard_count
                              ? run->shards[answer->shard + 1]->dictionary.first_track
                              : run->tracks.count;
    struct pass_shard view = {pass->trace, answer->shard, first, (uint32_t)behind - first,
                              .tap = NULL};
    int status = begin_answer(answer, pass, &view);
    if (!status && shard->owner == answer->shard) {
        status = read_frames(pass, answer, shard);
        if (!status)
            status = let_read(pass, answer, &view);
    }
    if (!status)
        status = read_owned(pass, answer);
    for (size_t i = 0; !status && i < pass->count; i++)
        status = pass->asks[i].analysis->end ? pass->asks[i].analysis->end(answer->parts[i]) : 0;
    return status;
}

int shard_pass_read(struct shard_pass *pass, struct shard_answer *answer)
{
    return read_shard(pass, answer, pass->trace->run.shards[answer->shard]);
}
