// SPDX-License-Identifier: Apache-2.0
// The list of a shard's frames that its writer keeps in order to close it with
// an index (docs/FORMAT.md section 8). Memory stays bounded: every so often
// the list goes into the file and a new one begins, chained to it.
#ifndef GAIT_FORMAT_FRAME_INDEX_H
#define GAIT_FORMAT_FRAME_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "format/table_writer.h"

#define FRAME_INDEX_COLUMNS 8

struct frame_index {
    struct buffer rows; // FRAME_INDEX_COLUMNS numbers a frame
    uint32_t count;
    uint64_t frame_count;  // all frames of the shard
    uint64_t last_offset;  // of the newest index frame, 0 = none
};

void frame_index_init(struct frame_index *index);
void frame_index_finish(struct frame_index *index);

// Notes the whole frames in `batch`, which was written at `offset`.
GAIT_CHECK int frame_index_add(struct frame_index *index, struct slice batch, uint64_t offset);

bool frame_index_is_due(const struct frame_index *index);

// Appends an index frame of what was noted since the last one. It must be
// written and then added like any other frame; adding it begins the new list.
GAIT_CHECK int frame_index_write(const struct frame_index *index, struct table_writer *writer);

#endif
