// SPDX-License-Identifier: Apache-2.0
// All spans of a rank, slice after slice: those of its own shard and of the shards that it
// owns. Each frame is decoded once, when a row of it may be due.
//
//     rank_stream_open(&stream, trace, shard, columns)
//     while (rank_stream_next(&stream, &slice) == 1) ...
//     rank_stream_close(&stream)
#ifndef GAIT_FACTS_RANK_STREAM_H
#define GAIT_FACTS_RANK_STREAM_H

#include <stdbool.h>

#include "facts/fact_slice.h"
#include "load/order/event_frame.h"
#include "load/shard/open_events.h"

struct stream_frame { // one that was not begun yet
    int64_t first_ns;
    uint32_t shard, frame, track;
};

struct stream_piece { // a decoded frame, or rows that were open when the recording ended
    struct event_frame frame;
    const struct open_event *open;
    uint32_t track, shard;
    size_t at, end, rows; // rows [at, end) stand in the slice
};

struct fact_pieces {
    struct stream_piece **pieces;
    size_t count, capacity;
};

struct rank_stream {
    struct gait_trace *trace;
    uint32_t columns;
    size_t slice_rows; // a frame is begun as long as fewer wait
    struct stream_frame *frames;
    size_t count, capacity, next;
    struct fact_pieces open, spare;
    size_t rows_open;
    int64_t head_ns;  // no row that waits starts before
    int64_t since_ns; // the end of the slice before
    bool is_over;
    struct event_decoder decoder;
    struct fact_row *rows, *room;
    size_t row_capacity, room_capacity;
    size_t *ends;
    size_t end_capacity;
    struct fact_rows *tracks;
    size_t track_capacity;
};

// `slice_rows` 0: the usual number.
GAIT_CHECK int rank_stream_open(struct rank_stream *stream, struct gait_trace *trace,
                                uint32_t shard, uint32_t columns, size_t slice_rows);
void rank_stream_close(struct rank_stream *stream); // takes a zeroed struct

// 1 and a slice, good until the next call; 0 at the end; or an error. Damaged frames are
// noted in the trace and left out.
GAIT_CHECK int rank_stream_next(struct rank_stream *stream, struct fact_slice *ret_slice);

#endif
