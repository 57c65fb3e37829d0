// SPDX-License-Identifier: Apache-2.0
// Turns the slots of a ring into rows, and rows into frames: begins and ends
// become whole spans in order of start. Used by the recorder's drainer while
// the program lives and by the reader on what a dead one left behind, so both
// see the same thing. No I/O; one thread at a time.
#ifndef GAIT_FORMAT_SPAN_BUILDER_H
#define GAIT_FORMAT_SPAN_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "format/slot.h"
#include "format/table_writer.h"

// Most slots one span_builder_take() consumes: no table can get more rows than that.
#define SPAN_BUILDER_MAX_SLOTS 65536

struct span_builder_span { // one that has begun and not ended
    uint64_t start;
    uint32_t site, depth;
    int64_t row;        // in the frame in the making, -1: begun before it
    struct buffer args; // only of a span begun before this frame
};

// Loss of events that a track has yet to put on record.
struct span_builder_loss {
    uint64_t events, first, last;
    uint32_t reason; // string id
};

// What one track must remember from frame to frame.
struct span_builder_track {
    uint32_t track;
    uint32_t open_count, open_capacity;
    struct span_builder_span *open; // outermost first
    uint32_t base_depth;            // spans open below those: their begin was lost
    bool has_step;
    uint64_t step_start, step_number;
    uint64_t position;   // slots taken so far
    uint64_t lost;       // events dropped so far, for the commit row
    uint64_t begun;      // events begun below position, on record or overwritten
    uint64_t unbalanced; // ends that had no begin
};

struct span_builder; // the rows of the frame in the making

// One span_builder_take() consumes `max_slots` at most, SPAN_BUILDER_MAX_SLOTS or fewer.
GAIT_CHECK int span_builder_create(struct table_writer *writer, uint32_t max_slots,
                                   struct span_builder **ret_builder);
void span_builder_destroy(struct span_builder *builder);

void span_builder_track_init(struct span_builder_track *track, uint32_t id, uint64_t position);
void span_builder_track_finish(struct span_builder_track *track);

// Puts back a span that was open at `position`; outer ones first.
GAIT_CHECK int span_builder_track_restore(struct span_builder_track *track,
                                          const struct span_builder_span *span, struct slice args);

// Takes records from slots[track->position & mask] on, at most up to position
// `until` and the builder's most slots, and moves position behind what it took. Returns
// less than asked only for that limit; a record cut off by `until` is left.
GAIT_CHECK int span_builder_take(struct span_builder *builder, struct span_builder_track *track,
                                 const struct slot *slots, uint64_t mask, uint64_t until);

// Writes the rows taken as frames of `track`; call before taking for another
// track. Adds to `events` (may be NULL) how many they begin, also where it fails.
GAIT_CHECK int span_builder_flush(struct span_builder *builder, struct span_builder_track *track,
                                  uint64_t *events);

// Closes a batch: the open spans of these tracks, then their commit rows.
GAIT_CHECK int span_builder_commit(struct span_builder *builder,
                                   struct span_builder_track *const *tracks, uint32_t track_count);

// A drop row.
GAIT_CHECK int span_builder_write_loss(struct table_writer *writer, uint32_t track,
                                       const struct span_builder_loss *loss);

#endif
