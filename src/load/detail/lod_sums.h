// SPDX-License-Identifier: Apache-2.0
// Spans of tracks, summed up level by level as they come in order of start.
#ifndef GAIT_LOAD_LOD_SUMS_H
#define GAIT_LOAD_LOD_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#define LOD_SUMS_LEVELS 9 // 32 × 8^8 spans: 500 million
#define LOD_SUMS_MAX_DEPTH 255

struct lod_row {
    uint64_t start, end, count, busy, longest;
    uint32_t site; // of the longest
    uint16_t level, depth;
};

struct lod_depth;

// The sums of one track.
struct lod_track {
    struct lod_depth *depths;
    size_t depth_count, depth_capacity;
    struct lod_row *rows; // finished, not taken yet
    size_t row_count, row_capacity;
};

void lod_sums_finish(struct lod_track *track); // takes NULL and a zeroed struct

// Adds a span (a row with count 1); those of one depth come in order of start.
GAIT_CHECK int lod_sums_add(struct lod_track *track, const struct lod_row *span);

// Finishes the sums that are not full yet.
GAIT_CHECK int lod_sums_end(struct lod_track *track);

#endif
