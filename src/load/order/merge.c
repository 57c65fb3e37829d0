// SPDX-License-Identifier: Apache-2.0
// Rows of many frames in order of start time. A span stands in the frame in
// which it ended, so a frame may begin long before the one in front of it:
// frames are taken in order of their first row, and as many are in use at once
// as spans nest.
#include "load/order/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"
#include "base/invariant.h"

#define STREAM_LIMIT (256u << 20)
#define OPEN_STREAM UINT32_MAX

struct merge_stream {
    int64_t first_ns;
    uint32_t shard, frame;
    uint32_t row, rows; // the one due; of the whole frame, once it has begun
    uint32_t slot;      // of the cache, a guess
};

struct merge_item {
    int64_t start_ns;
    uint64_t tick;
    uint32_t track, rank, depth;
    uint32_t stream;       // or OPEN_STREAM: an event that is still open
    uint32_t shard, place; // number of the frame, or of the open event
};

// Time; then, within a track, ticks (finer than nanoseconds), then parents
// first. What is equal in all that stays in file order.
static bool is_before(const struct merge_item *a, const struct merge_item *b)
{
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns;
    if (a->track != b->track)
        return a->track < b->track;
    if (a->tick != b->tick)
        return a->tick < b->tick;
    if (a->rank != b->rank)
        return a->rank < b->rank;
    if (a->depth != b->depth)
        return a->depth < b->depth;
    if ((a->stream == OPEN_STREAM) != (b->stream == OPEN_STREAM))
        return a->stream == OPEN_STREAM; // what never ended is around the rest
    return a->place < b->place;
}

static void sift_down(struct merge *merge)
{
    struct merge_item item = merge->heap[0];
    size_t at = 0;
    size_t child = 1;

    while (child < merge->heap_count) {
        if (child + 1 < merge->heap_count &&
            is_before(&merge->heap[child + 1], &merge->heap[child]))
            child++;
        if (!is_before(&merge->heap[child], &item))
            break;
        merge->heap[at] = merge->heap[child];
        at = child;
        child = 2 * at + 1;
    }
    merge->heap[at] = item;
}

static int push(struct merge *merge, const struct merge_item *item)
{
    size_t at = merge->heap_count;
    int status = ARRAY_RESERVE(merge->heap, merge->heap_capacity, at + 1, STREAM_LIMIT);

    if (status)
        return status;
    merge->heap_count++;
    for (; at > 0 && is_before(item, &merge->heap[(at - 1) / 2]); at = (at - 1) / 2)
        merge->heap[at] = merge->heap[(at - 1) / 2];
    merge->heap[at] = *item;
    return 0;
}

static void pop(struct merge *merge)
{
    GAIT_ASSERT(merge->heap_count > 0);
    merge->heap[0] = merge->heap[--merge->heap_count];
    if (merge->heap_count)
        sift_down(merge);
}

static int fetch_frame(struct merge *merge, uint32_t number, struct event_frame **ret_frame)
{
    struct merge_stream *stream = &merge->streams[number];
    struct frame_wish wish = {.owner = number,
                              .slot = stream->slot,
                              .row = stream->row,
                              .ask = {.shard = merge->run->shards[stream->shard],
                                      .tracks = &merge->run->tracks,
                                      .frame = stream->frame,
                                      .roles = ROLE_ALL,
                                      .parents_first = true}};

    merge->held = OPEN_STREAM;
    int status = frame_cache_get(&merge->cache, &wish, ret_frame);
    if (status)
        return status;
    stream->slot = wish.slot;
    merge->held = number;
    merge->held_frame = *ret_frame;
    return 0;
}

// Mostly the next row stands in the frame that the last one came from.
static inline int get_frame(struct merge *merge, uint32_t number, struct event_frame **ret_frame)
{
    const struct event_frame *frame = merge->held_frame;

    if (number != merge->held || merge->streams[number].row - frame->first_row >= frame->rows)
        return fetch_frame(merge, number, ret_frame);
    *ret_frame = merge->held_frame;
    return 0;
}

static void release_frame(struct merge *merge, uint32_t number)
{
    frame_cache_release(&merge->cache, number, merge->streams[number].slot);
    merge->held = OPEN_STREAM;
}

static struct merge_item item_of(const struct merge *merge, const struct event_frame *frame,
                                 uint32_t stream)
{
    size_t row = merge->streams[stream].row - frame->first_row;

    return (struct merge_item){
        .start_ns = frame->start_ns[row],
        .tick = frame->numbers[ROLE_START][row],
        .track = frame->track,
        .rank = frame->table->rank,
        .depth = frame->numbers[ROLE_DEPTH] ? (uint32_t)frame->numbers[ROLE_DEPTH][row] : 0,
        .stream = stream,
        .shard = merge->streams[stream].shard,
        .place = merge->streams[stream].frame,
    };
}

// Decodes the next frame in line and puts its first row on the heap. A damaged
// one is passed over.
static int begin_stream(struct merge *merge)
{
    GAIT_ASSERT(merge->next_stream < merge->stream_count);
    uint32_t number = (uint32_t)merge->next_stream++;
    struct event_frame *frame;
    int status = get_frame(merge, number, &frame);

    if (status)
        return status == GAIT_ERR_FORMAT ? 0 : status;
    merge->streams[number].rows = (uint32_t)frame->all_rows;
    if (!frame->all_rows) {
        release_frame(merge, number);
        return 0;
    }
    struct merge_item item = item_of(merge, frame, number);
    return push(merge, &item);
}

// Puts the row behind the one handed out in its place.
static int advance(struct merge *merge)
{
    GAIT_ASSERT(merge->heap_count > 0);
    uint32_t number = merge->heap[0].stream;
    struct event_frame *frame;

    merge->has_head = false;
    if (number == OPEN_STREAM) {
        pop(merge);
        return 0;
    }
    struct merge_stream *stream = &merge->streams[number];
    if (++stream->row >= stream->rows) {
        release_frame(merge, number);
        pop(merge);
        return 0;
    }
    int status = get_frame(merge, number, &frame);
    if (status == GAIT_ERR_FORMAT) { // the file changed under us
        pop(merge);
        return 0;
    }
    if (status)
        return status;
    merge->heap[0] = item_of(merge, frame, number);
    sift_down(merge);
    return 0;
}

static int hand_out(struct merge *merge, struct merge_row *ret_row)
{
    const struct merge_item *item = &merge->heap[0];
    struct merge_row row = {0};
    struct event_frame *frame;

    GAIT_ASSERT(item->stream == OPEN_STREAM || item->stream < merge->next_stream);
    merge->has_head = true;
    if (item->stream == OPEN_STREAM) {
        row.shard = merge->run->shards[item->shard];
        row.open = &row.shard->open.events[item->place];
        *ret_row = row;
        return 1;
    }
    int status = get_frame(merge, item->stream, &frame);
    if (status)
        return status;
    row.frame = frame;
    row.row = merge->streams[item->stream].row - frame->first_row;
    row.shard = merge->run->shards[merge->streams[item->stream].shard];
    row.place = merge->streams[item->stream].frame;
    *ret_row = row;
    return 1;
}

int merge_next(struct merge *merge, struct merge_row *ret_row)
{
    int status = merge->has_head ? advance(merge) : 0;

    for (;;) {
        while (!status && merge->next_stream < merge->stream_count &&
               (!merge->heap_count ||
                merge->streams[merge->next_stream].first_ns <= merge->heap[0].start_ns))
            status = begin_stream(merge);
        if (status || !merge->heap_count)
            return status;
        status = hand_out(merge, ret_row);
        if (status != GAIT_ERR_FORMAT)
            return status;
        status = advance(merge); // forgotten, and damaged when it was read again
    }
}

static int add_stream(struct merge *merge, uint32_t shard, uint32_t frame)
{
    const struct run_shard *from = merge->run->shards[shard];
    const struct frame_entry *entry = &from->shard.list.entries[frame];
    uint32_t track = id_map_get(&from->dictionary.tracks, entry->track) - 1;
    return ARRAY_ADD(merge->streams, merge->stream_count, merge->stream_capacity, STREAM_LIMIT,
                     &(struct merge_stream){.first_ns = clock_map_ns(
                                                merge->run->tracks.tracks[track].map, entry->first),
                                            .shard = shard,
                                            .frame = frame,
                                            .slot = UINT32_MAX});
}

static int add_streams(struct merge *merge, uint32_t number, const struct merge_choice *choice)
{
    const struct run_shard *shard = merge->run->shards[number];
    const struct frame_list *list = &shard->shard.list;
    int status = 0;

    for (size_t i = 0; !status && i < list->count; i++) {
        const struct event_table *table = event_table_of(list->entries[i].table);

        if (!table || !(choice->kinds & 1u << table->kind) || !shard_has_frame(&shard->shard, i))
            continue;
        if (!choice->wants || choice->wants(choice->context, shard, i))
            status = add_stream(merge, number, (uint32_t)i);
    }
    return status;
}

static int add_open(struct merge *merge, uint32_t number, const struct merge_choice *choice)
{
    const struct open_events *open = &merge->run->shards[number]->open;
    int status = 0;

    for (size_t i = 0; !status && i < open->count; i++) {
        const struct open_event *event = &open->events[i];
        enum gait_kind kind = event->is_step ? GAIT_KIND_STEP : GAIT_KIND_SPAN;
        struct merge_item item = {.start_ns = event->start_ns,
                                  .tick = event->tick,
                                  .track = event->track,
                                  .rank = event->is_step ? 0 : 1,
                                  .depth = event->depth,
                                  .stream = OPEN_STREAM,
                                  .shard = number,
                                  .place = (uint32_t)i};

        if (choice->kinds & 1u << kind)
            status = push(merge, &item);
    }
    return status;
}

static int compare_streams(const void *left, const void *right)
{
    const struct merge_stream *a = left;
    const struct merge_stream *b = right;

    RETURN_IF_APART(a->first_ns, b->first_ns);
    RETURN_IF_APART(a->shard, b->shard);
    return a->frame < b->frame ? -1 : a->frame > b->frame;
}

int merge_open(struct merge *merge, struct run *run, const struct merge_choice *choice)
{
    *merge = (struct merge){.run = run, .held = OPEN_STREAM};
    int status = frame_cache_init(&merge->cache, run->merge_bytes);
    for (uint32_t i = 0; !status && i < run->shard_count; i++) {
        if (choice->shards && !choice->shards[i])
            continue;
        status = add_streams(merge, i, choice);
        if (!status)
            status = add_open(merge, i, choice);
    }
    if (status) {
        merge_close(merge);
        return status;
    }
    ARRAY_SORT(merge->streams, merge->stream_count, compare_streams);
    return 0;
}

static int copy_items(void **ret_items, const void *items, size_t bytes)
{
    if (!bytes)
        return 0;
    *ret_items = malloc(bytes);
    if (!*ret_items)
        return fail(GAIT_ERR_MEMORY, "no memory to look ahead");
    memcpy(*ret_items, items, bytes);
    return 0;
}

int merge_open_at(struct merge *merge, const struct merge *other)
{
    *merge = *other;
    merge->streams = NULL;
    merge->heap = NULL;
    merge->held = OPEN_STREAM;
    merge->stream_capacity = merge->stream_count;
    merge->heap_capacity = merge->heap_count;
    int status = frame_cache_init(&merge->cache, other->cache.bytes_limit);
    if (!status)
        status = copy_items((void **)&merge->streams, other->streams,
                            other->stream_count * sizeof(*other->streams));
    if (!status)
        status = copy_items((void **)&merge->heap, other->heap,
                            other->heap_count * sizeof(*other->heap));
    if (status)
        merge_close(merge);
    return status;
}

void merge_close(struct merge *merge)
{
    if (!merge)
        return;
    frame_cache_finish(&merge->cache);
    free(merge->streams);
    free(merge->heap);
    merge->streams = NULL;
    merge->heap = NULL;
}
