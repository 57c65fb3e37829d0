// SPDX-License-Identifier: Apache-2.0
#include "facts/launch_threads.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/fail.h"
#include "facts/rank_stream.h"
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
    const uint32_t hash = (uint32_t)hash_mix(wanted->process, (uint64_t)wanted->tid);
    int status = hash_index_reserve(&threads->index, FIRST_ROOM);
    if (!status)
        status = ARRAY_RESERVE(threads->rows, threads->capacity, threads->count + 1, MOST_ROWS);
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
    struct rank_stream *stream;
    struct gait_trace *trace;
    const uint8_t *kinds;
    bool may_have_ops, may_have_calls; // any thread
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

static bool is_known(const struct survey *survey, const struct launch_thread *thread)
{
    return (thread->has_ops || !survey->may_have_ops) &&
           (thread->has_calls || !survey->may_have_calls);
}

static void look_at_rows(const struct survey *survey, const struct event_frame *frame,
                         struct launch_thread *thread)
{
    const uint64_t *sites = frame->numbers[ROLE_SITE], *links = frame->numbers[ROLE_LINK];
    for (size_t i = 0; i < frame->rows && !is_known(survey, thread); i++) {
        const uint8_t kind = survey->kinds[sites[i]];
        thread->has_ops = thread->has_ops || kind == LAUNCH_OP;
        thread->has_ranges = thread->has_ranges || kind == LAUNCH_RANGE;
        thread->has_calls = thread->has_calls || (kind == LAUNCH_CALL && links && links[i]);
    }
}

static int look_at_shard(struct survey *survey, uint32_t number)
{
    const struct run_shard *shard = survey->trace->run.shards[number];
    const struct event_frame *frame;
    int status = GAIT_OK;
    for (size_t i = 0; i < shard->shard.list.count && !status; i++) {
        uint32_t track, at;
        if (!is_wanted(&survey->trace->run, shard, i, &track))
            continue;
        status = launch_threads_find(survey->threads, survey->trace, track, &at);
        if (status || is_known(survey, &survey->threads->rows[at]))
            continue;
        status = rank_stream_look(survey->stream, number, i, &frame);
        if (!status)
            look_at_rows(survey, frame, &survey->threads->rows[at]);
        status = status == GAIT_ERR_FORMAT ? GAIT_OK : status;
        const struct launch_thread *thread = &survey->threads->rows[at];
        survey->threads->has_known_caller |= thread->has_ops && thread->has_calls;
    }
    return status;
}

int launch_threads_survey(struct launch_threads *threads, struct rank_stream *stream,
                          const struct launch_threads_wish *wish)
{
    struct survey survey = {
        .threads = threads, .stream = stream, .trace = wish->trace, .kinds = wish->kinds};
    const struct run *run = &wish->trace->run;
    for (size_t i = 0; i < run->sites.count; i++) {
        survey.may_have_ops |= wish->kinds[i] == LAUNCH_OP;
        survey.may_have_calls |= wish->kinds[i] == LAUNCH_CALL;
    }
    int status = look_at_shard(&survey, wish->shard);
    for (uint32_t i = shard_owned_first(run, wish->shard); !status && i != RUN_NO_SHARD;
         i = shard_owned_next(run, i))
        status = look_at_shard(&survey, i);
    return status;
}
