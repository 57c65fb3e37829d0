// SPDX-License-Identifier: Apache-2.0
// Puts the spans of chosen tracks in order of start without holding them all.
//
// A frame holds spans that ended while it was filled, in order of start. So
// only those that were begun before an earlier frame of their track had ended
// are out of order: as many a frame as spans were open, which is few. A first
// pass over the columns keeps those (sweep_survey), a second one weaves them
// in between the others (sweep_weave).
//
//     for each span batch: sweep_survey(&sweep, batch)
//     sweep_sort(&sweep)
//     for each span batch again: sweep_weave(&sweep, batch, visit, context)
//     sweep_finish_weave(&sweep, visit, context)
#ifndef GAIT_ANALYSE_SWEEP_H
#define GAIT_ANALYSE_SWEEP_H

#include <stdbool.h>

#include <gait/trace.h>

#include "base/buffer.h"

struct sweep_span {
    int64_t start_ns, end_ns; // INT64_MAX: still open
    uint32_t track, site, depth;
};

struct sweep_track {
    int64_t last_end_ns; // of the closed spans so far
    size_t next, end;    // its late spans in the sorted row
    bool is_wanted;
};

struct sweep {
    struct sweep_track *tracks;
    uint32_t track_count;
    struct buffer late; // of struct sweep_span
};

// What the scans must ask for. The second does without depths: of two spans
// with the same bounds the late one is the parent, since it was written later.
#define SWEEP_WEAVE_COLUMNS (GAIT_COLUMN_START | GAIT_COLUMN_DURATION | GAIT_COLUMN_SITE)
#define SWEEP_SURVEY_COLUMNS (SWEEP_WEAVE_COLUMNS | GAIT_COLUMN_DEPTH)

enum { SWEEP_MAX_LATE = 1 << 22 }; // 128 MiB

GAIT_CHECK int sweep_init(struct sweep *sweep, uint32_t track_count);
void sweep_finish(struct sweep *sweep); // takes a zeroed struct

void sweep_want(struct sweep *sweep, uint32_t track);

// Fails when more than SWEEP_MAX_LATE spans are out of order.
GAIT_CHECK int sweep_survey(struct sweep *sweep, const struct gait_batch *batch);
void sweep_sort(struct sweep *sweep);

typedef void sweep_visit(const struct sweep_span *span, void *context);

// Hands on the batch's spans and the late ones that belong before them: of each
// track in order of start, parents before children.
void sweep_weave(struct sweep *sweep, const struct gait_batch *batch, sweep_visit *visit,
                 void *context);
void sweep_finish_weave(struct sweep *sweep, sweep_visit *visit, void *context);

#endif
