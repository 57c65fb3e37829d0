// SPDX-License-Identifier: Apache-2.0
// All rows of many frames in order of start time, in bounded memory: a frame is
// decoded when its first row is due.
#ifndef GAIT_LOAD_MERGE_H
#define GAIT_LOAD_MERGE_H

#include "load/order/frame_cache.h"

struct merge_stream;
struct merge_item;

// What the merge is to hold. A frame is taken when its kind is asked for and
// `wants` (may be NULL) agrees.
struct merge_choice {
    uint32_t kinds; // bits 1u << GAIT_KIND_…
    bool (*wants)(const void *context, const struct run_shard *shard, size_t frame);
    const void *context;
    const uint8_t *shards; // NULL: all; else 0 where a shard has none of these
};

struct merge {
    struct run *run;
    struct frame_cache cache;
    struct merge_stream *streams; // one a frame, in order of first row
    size_t stream_count, stream_capacity;
    size_t next_stream;      // the first one not begun
    struct merge_item *heap; // one a frame begun
    size_t heap_count, heap_capacity;
    bool has_head; // the heap's first item was handed out
    uint32_t held; // stream whose frame `held_frame` is, or UINT32_MAX
    struct event_frame *held_frame;
};

// The row that is due: of a decoded frame, or an event that is still open.
struct merge_row {
    const struct event_frame *frame;
    size_t row;
    struct run_shard *shard;       // that it comes from
    size_t place;                  // number of the frame there
    const struct open_event *open; // instead of frame, row and place
};

GAIT_CHECK int merge_open(struct merge *merge, struct run *run, const struct merge_choice *choice);

// A merge that goes on where `other` stands, with memory of its own.
GAIT_CHECK int merge_open_at(struct merge *merge, const struct merge *other);
void merge_close(struct merge *merge); // takes NULL and a zeroed struct

// 1 and the next row (good until the next call), 0 at the end, or an error.
GAIT_CHECK int merge_next(struct merge *merge, struct merge_row *ret_row);

#endif
