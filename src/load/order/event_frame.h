// SPDX-License-Identifier: Apache-2.0
// One frame of events, decoded: rows in order of start, times in nanoseconds,
// sites by their number in the trace.
#ifndef GAIT_LOAD_EVENT_FRAME_H
#define GAIT_LOAD_EVENT_FRAME_H

#include "load/order/event_table.h"
#include "load/run.h"

struct event_frame {
    const struct event_table *table;
    uint32_t track; // in the trace
    size_t rows;
    size_t first_row, all_rows;      // which of the frame's rows these are
    uint64_t *numbers[ROLE_NUMBERS]; // NULL: not asked for, or not in the table
    int64_t *start_ns, *duration_ns; // likewise, with ROLE_START and ROLE_DURATION
    bool has_bytes;
    struct slice *bytes; // when has_bytes
    struct buffer text;  // what they point into
    uint64_t *cells;     // memory of the columns, kept from frame to frame
    size_t cell_capacity;
    size_t slice_capacity;
};

// Scratch space for decoding, reused from frame to frame.
struct event_decoder {
    struct table_reader reader;
    struct buffer payload;
    struct table_view view;
    uint32_t *order; // of rows that did not stand in order
    size_t order_capacity;
    void *moved; // a column in its new order
    size_t moved_capacity;
};

struct event_ask {
    struct run_shard *shard;
    const struct track_table *tracks;
    size_t frame;
    uint32_t roles;     // ROLE_BIT()s; a duration in ns needs the start too
    bool parents_first; // of rows that start together, by depth; else as they stand
};

GAIT_CHECK int event_decoder_init(struct event_decoder *decoder);
void event_decoder_finish(struct event_decoder *decoder); // takes NULL and a zeroed struct

void event_frame_init(struct event_frame *frame);
void event_frame_finish(struct event_frame *frame); // takes NULL and a zeroed struct

// Memory that the frame holds on to, and that it needs for its rows.
size_t event_frame_bytes(const struct event_frame *frame);
size_t event_frame_needs(const struct event_frame *frame);

// Makes `frame` a copy of `count` rows of `from`, in no more memory than that.
GAIT_CHECK int event_frame_copy_rows(struct event_frame *frame, const struct event_frame *from,
                                     size_t first, size_t count);

// Decodes what is asked for. A frame that proves damaged is noted in its shard
// and is GAIT_ERR_FORMAT.
GAIT_CHECK int event_frame_decode(struct event_frame *frame, struct event_decoder *decoder,
                                  const struct event_ask *ask);

#endif
