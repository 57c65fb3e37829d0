// SPDX-License-Identifier: Apache-2.0
#include "facts/launch_threads.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/fail.h"
#include "load/order/event_frame.h"
#include "load/shard_owner.h"
#include "vocabulary/metadata.h"

enum { MOST_ROWS = 1 << 28, FIRST_ROOM = 64 };

void launch_threads_finish(struct launch_threads *threads)
{
    for (size_t i = 0; i < threads->count; i++) {
        free(threads->rows[i].open.ops.ops);
        free(threads->rows[i].open.ranges.ops);
    }
    free(threads->rows);
    hash_index_finish(&threads->index);
    *threads = (struct launch_threads){.rows = NULL};
}

static int find_thread(struct launch_threads *threads, const struct launch_thread *wanted,
                       uint32_t *ret_number)
{
    const struct array_shape shape = {sizeof *threads->rows, MOST_ROWS};
    const uint32_t hash = (uint32_t)hash_mix(wanted->process, (uint64_t)wanted->tid);
    int status = hash_index_reserve(&threads->index, FIRST_ROOM);
    if (!status)
        status =
            array_reserve((void **)&threads->rows, &threads->capacity, threads->count + 1, shape);
    if (status)
        return status;
    struct hash_index *index = &threads->index;
    size_t at = hash_index_first(index, hash);
    for (; index->places[at].row; at = hash_index_next(index, at)) {
        const struct launch_thread *thread = &threads->rows[index->places[at].row - 1];
        *ret_number = index->places[at].row - 1;
        if (thread->tid == wanted->tid && thread->process == wanted->process)
            return GAIT_OK;
    }
    *ret_number = (uint32_t)threads->count++;
    threads->rows[*ret_number] = *wanted;
    hash_index_put(index, at, hash, *ret_number);
    return GAIT_OK;
}

// What devices did lies in a shard of its own, which tells the thread of the process that
// owns it. The file of another tool may hold several processes, whose threads may have one
// number.
static struct launch_thread thread_of(const struct gait_trace *trace, uint32_t track)
{
    const struct gait_track_info *info = &trace->run.tracks.tracks[track].info;
    const bool is_imported = gait_trace_metadata(trace, info->shard, meta.import) != NULL;
    return (struct launch_thread){
        .tid = info->tid,
        .process = is_imported && info->parent != GAIT_NO_TRACK ? info->parent + 1 : 0};
}

int launch_threads_find(struct launch_threads *threads, const struct gait_trace *trace,
                        uint32_t track, uint32_t *ret_number)
{
    const struct launch_thread wanted = thread_of(trace, track);
    return find_thread(threads, &wanted, ret_number);
}

// --- what they have -----------------------------------------------------------------------

struct survey {
    struct launch_threads *threads;
    struct gait_trace *trace;
    const uint8_t *kinds;
    struct event_decoder decoder;
    struct event_frame frame;
};

// Not of a device's stream, whose rows are no calls.
static bool is_wanted(const struct run *run, const struct run_shard *shard, size_t at,
                      uint32_t *ret_track)
{
    const struct frame_entry *entry = &shard->shard.list.entries[at];
    const struct event_table *table = event_table_of(entry->table);
    if (!table || table->kind != GAIT_KIND_SPAN || !shard_has_frame(&shard->shard, at))
        return false;
    *ret_track = id_map_get(&shard->dictionary.tracks, entry->track) - 1;
    const struct gait_track_info *info = &run->tracks.tracks[*ret_track].info;
    return !info->internal && info->kind == GAIT_TRACK_THREAD;
}

static void look_at_rows(const struct survey *survey, struct launch_thread *thread)
{
    const uint64_t *sites = survey->frame.numbers[ROLE_SITE],
                   *links = survey->frame.numbers[ROLE_LINK];
    for (size_t i = 0; i < survey->frame.rows && !(thread->has_ops && thread->has_calls); i++) {
        const uint8_t kind = survey->kinds[sites[i]];
        thread->has_ops = thread->has_ops || kind == LAUNCH_OP;
        thread->has_ranges = thread->has_ranges || kind == LAUNCH_RANGE;
        thread->has_calls = thread->has_calls || (kind == LAUNCH_CALL && links && links[i]);
    }
}

static int look_at_frame(struct survey *survey, struct run_shard *shard, size_t at, uint32_t number)
{
    struct launch_thread *thread = &survey->threads->rows[number];
    const struct event_ask ask = {.shard = shard,
                                  .tracks = &survey->trace->run.tracks,
                                  .frame = at,
                                  .roles = ROLE_BIT(ROLE_SITE) | ROLE_BIT(ROLE_LINK)};
    if (thread->has_ops && thread->has_calls)
        return GAIT_OK;
    const int status = event_frame_decode(&survey->frame, &survey->decoder, &ask);
    if (status)
        return status == GAIT_ERR_FORMAT ? GAIT_OK : status;
    look_at_rows(survey, thread);
    survey->threads->has_known_caller |= thread->has_ops && thread->has_calls;
    return GAIT_OK;
}

static int look_at_shard(struct survey *survey, uint32_t number)
{
    struct run_shard *shard = survey->trace->run.shards[number];
    int status = GAIT_OK;
    for (size_t i = 0; i < shard->shard.list.count && !status; i++) {
        uint32_t track, thread;
        if (!is_wanted(&survey->trace->run, shard, i, &track))
            continue;
        status = launch_threads_find(survey->threads, survey->trace, track, &thread);
        if (!status)
            status = look_at_frame(survey, shard, i, thread);
    }
    return status;
}

int launch_threads_survey(struct launch_threads *threads, struct gait_trace *trace, uint32_t shard,
                          const uint8_t *kinds)
{
    struct survey survey = {.threads = threads, .trace = trace, .kinds = kinds};
    event_frame_init(&survey.frame);
    int status = event_decoder_init(&survey.decoder);
    if (!status)
        status = look_at_shard(&survey, shard);
    for (uint32_t i = shard_owned_first(&trace->run, shard); !status && i != RUN_NO_SHARD;
         i = shard_owned_next(&trace->run, i))
        status = look_at_shard(&survey, i);
    event_frame_finish(&survey.frame);
    event_decoder_finish(&survey.decoder);
    return status;
}
