// SPDX-License-Identifier: Apache-2.0
// The list of a shard's frames that its writer keeps in order to close it with
// an index (docs/FORMAT.md section 8). Memory stays bounded: every so often
// the list goes into the file and a new one begins, chained to it.
#ifndef GAIT_FORMAT_INDEX_WRITER_H
#define GAIT_FORMAT_INDEX_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "format/table_writer.h"

#define INDEX_WRITER_COLUMNS 8

struct index_writer {
    struct buffer rows; // INDEX_WRITER_COLUMNS numbers a frame
    uint32_t count;
    uint64_t frame_count; // all frames of the shard
    uint64_t last_offset; // of the newest index frame, 0 = none
};

void index_writer_init(struct index_writer *index);
void index_writer_finish(struct index_writer *index);

// Notes the whole frames in `batch`, which was written at `offset`.
GAIT_CHECK int index_writer_add(struct index_writer *index, struct slice batch, uint64_t offset);

bool index_writer_is_due(const struct index_writer *index);

// Appends an index frame of what was noted since the last one. It must be
// written and then added like any other frame; adding it begins the new list.
GAIT_CHECK int index_writer_write(const struct index_writer *index, struct table_writer *writer);

#endif
