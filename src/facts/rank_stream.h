// SPDX-License-Identifier: Apache-2.0
// All spans of a rank, slice after slice: those of its own shard and of the shards that it
// owns. Each frame is decoded once, when a row of it may be due.
//
//     rank_stream_open(&stream, trace, shard, &wish)
//     while (rank_stream_next(&stream, &slice) == 1) ...
//     rank_stream_close(&stream)
#ifndef GAIT_FACTS_RANK_STREAM_H
#define GAIT_FACTS_RANK_STREAM_H

#include <stdbool.h>

#include "facts/fact_slice.h"

struct rank_stream;
struct pass_tap;

struct stream_wish {
    uint32_t columns;           // FACT_...
    int64_t since_ns, until_ns; // frames with rows in [since, until) are enough; both 0: all
    size_t slice_rows;          // 0: the usual number
    bool has_internal;          // gait's own tracks, too
    const struct pass_tap *tap; // NULL: nobody else sees the frames
};

GAIT_CHECK int rank_stream_open(struct rank_stream **ret_stream, struct gait_trace *trace,
                                uint32_t shard, const struct stream_wish *wish);
void rank_stream_close(struct rank_stream *stream); // takes NULL

// A frame of the rank before its time, until the next call. Some of those that were looked at are
// kept, so that no frame is decoded again. GAIT_ERR_FORMAT: a damaged one, which was noted.
struct event_frame;
GAIT_CHECK int rank_stream_look(struct rank_stream *stream, uint32_t shard, size_t frame,
                                const struct event_frame **ret_frame);

// 1 and a slice, good until the next call; 0 at the end; or an error. Damaged frames are
// noted in the trace and left out.
GAIT_CHECK int rank_stream_next(struct rank_stream *stream, struct fact_slice *ret_slice);

#endif
