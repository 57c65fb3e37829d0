// SPDX-License-Identifier: Apache-2.0
// Rows of one lane on their way into frames of a shard.
#ifndef GAIT_INGEST_LANE_FRAME_H
#define GAIT_INGEST_LANE_FRAME_H

#include "format/table_writer.h"
#include "ingest/row_runs.h"

enum { LANE_FRAME_ROWS = 16384 };

struct lane_frame {
    enum table_id table;
    uint32_t track; // its id in the shard
    size_t rows, room;
    uint64_t *memory;
    uint64_t last; // end of the latest row
    uint16_t mask; // blanks that some row has
    bool has_forms;
};

GAIT_CHECK int lane_frame_init(struct lane_frame *frame, enum table_id table, uint32_t track,
                               uint64_t most_rows);
void lane_frame_finish(struct lane_frame *frame);

// Times of the row are ticks of the shard's clock by now.
void lane_frame_add(struct lane_frame *frame, const struct row *row, uint64_t depth);

static inline bool lane_frame_is_full(const struct lane_frame *frame)
{
    return frame->rows == frame->room;
}

// Puts the rows into a frame and forgets them.
GAIT_CHECK int lane_frame_write(struct lane_frame *frame, struct table_writer *tables);

#endif
