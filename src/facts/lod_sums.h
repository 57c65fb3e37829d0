// SPDX-License-Identifier: Apache-2.0
// Spans summed up level by level while they come in order of start: a level is made of the rows of
// the one below, so a span costs one look at the lowest.
#ifndef GAIT_FACTS_LOD_SUMS_H
#define GAIT_FACTS_LOD_SUMS_H

#include <gait/error.h>

#include "facts/lod_row.h"

struct lod_cell { // a row in the making; zeroed: none
    int64_t start_ns, end_ns;
    uint64_t count;
    union {
        struct {
            uint64_t busy_ns, longest_ns;
        };
        struct { // of a counter
            double least, most;
        };
    };
    double last;
    uint32_t site, frame;
    bool is_counter;
};

// Takes a row that is complete: `at` counts levels from the lowest.
typedef int lod_emit(void *context, unsigned at, uint32_t lane, const struct lod_cell *cell);

struct lod_sums { // zeroed but for these four: without lanes
    unsigned lowest, levels;
    lod_emit *emit;
    void *context;
    struct lod_cell *cells; // `levels` of each lane
    size_t lanes, capacity;
};

void lod_sums_finish(struct lod_sums *sums); // takes a zeroed struct

GAIT_CHECK int lod_sums_add_lane(struct lod_sums *sums);

// A span of a lane, as a cell of one.
GAIT_CHECK int lod_sums_add(struct lod_sums *sums, uint32_t lane, const struct lod_cell *span);

// No span that starts before will come: emits what that completes, up to level `most` of them.
GAIT_CHECK int lod_sums_settle(struct lod_sums *sums, int64_t until_ns, unsigned most);

#endif
