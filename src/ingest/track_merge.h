// SPDX-License-Identifier: Apache-2.0
// The rows of all lanes of one track, in order of time.
#ifndef GAIT_INGEST_TRACK_MERGE_H
#define GAIT_INGEST_TRACK_MERGE_H

#include "ingest/event_store.h"

struct track_merge {
    struct row_reading *readings; // one a run
    uint32_t *lanes;              // of each reading
    uint32_t *heap;               // of readings, the one with the first row on top
    size_t count, all;            // in the heap; of readings
    bool has_row;                 // one was given out
    int64_t *ends;                // of the spans that are open, the outermost first
    size_t depth, depth_room;
    struct row ended; // the row at hand, where its end had to be found
};

// All lanes of a track of the store.
GAIT_CHECK int track_merge_open(struct track_merge *merge, const struct event_store *store,
                                uint32_t track);
void track_merge_close(struct track_merge *merge);

// The next row, its lane and, of a span, its depth: 1, 0 at the end, or an error. The row
// stays until the next call.
GAIT_CHECK int track_merge_next(struct track_merge *merge, const struct event_store *store,
                                const struct row **ret_row, uint32_t *ret_lane,
                                uint64_t *ret_depth);

#endif
