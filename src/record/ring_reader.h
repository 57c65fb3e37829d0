// SPDX-License-Identifier: Apache-2.0
// From the rings into one batch of frames: each writer's losses and records,
// whatever its policy. Who calls writes the batch, then settles.
#ifndef GAIT_RECORD_RING_READER_H
#define GAIT_RECORD_RING_READER_H

#include <gait/error.h>

#include "record/writer.h"

struct ring_reader {
    struct table_writer *tables;
    struct span_builder *builder;
    struct slot *copy;                  // overwrite: a stretch of ring, safe from its writer
    struct span_builder_track **tracks; // of the batch
    struct writer **members;
    uint32_t count, capacity;
};

GAIT_CHECK int ring_reader_init(struct ring_reader *drain, struct table_writer *tables,
                                enum ring_policy policy);
void ring_reader_finish(struct ring_reader *drain); // takes a zeroed struct

// Whether there is something to take.
bool ring_reader_has_news(const struct writer *writer);

// Takes what the writer's ring holds, and its losses.
GAIT_CHECK int ring_reader_writer(struct ring_reader *drain, struct writer *writer);

// Copies all slots, to be believed only as far as the owner has not come.
void ring_reader_copy_ring(const struct writer *writer, struct slot *copy);

// Takes from a copy of the ring what lies between the writer's position and
// `until` and has been taken once before: the past, for snapshots.
GAIT_CHECK int ring_reader_past(struct ring_reader *drain, struct writer *writer,
                                const struct slot *copy, uint64_t until);

// The commit of all writers taken.
GAIT_CHECK int ring_reader_commit(struct ring_reader *drain);

// After the batch was written, or not; then the next one is empty. `is_kept`
// leaves what was not written to the ring.
void ring_reader_settle(struct ring_reader *drain, bool is_written, bool is_kept);

#endif
