// SPDX-License-Identifier: Apache-2.0
// Puts the spans of one shard's tracks in order of start without holding them all.
//
// A frame holds spans that ended while it was filled, in order of start. So
// only those that were begun before an earlier frame of their track had ended
// are out of order: as many a frame as spans were open, which is few. A first
// pass over the columns keeps those (span_order_survey), a second one hands them
// on in between the others (span_order_walk).
//
//     for each span batch: span_order_survey(&order, batch)
//     span_order_sort(&order)
//     for each span batch again: span_order_walk(&order, batch, visit, context)
//     span_order_finish_walk(&order, visit, context)
#ifndef GAIT_ANALYSE_SPAN_ORDER_H
#define GAIT_ANALYSE_SPAN_ORDER_H

#include <stdbool.h>

#include <gait/trace.h>

#include "base/buffer.h"

struct ordered_span {
    int64_t start_ns, end_ns; // INT64_MAX: still open
    uint32_t track, site, depth;
};

struct ordered_track {
    int64_t last_start_ns; // of the closed spans so far
    size_t next, end;      // its late spans in the sorted row
};

struct span_order {
    struct ordered_track *tracks; // of those from first_track on
    uint32_t first_track, track_count;
    struct buffer late; // of struct ordered_span
};

// What the scans must ask for. The second does without depths: of two spans
// with the same bounds the late one is the parent, since it was written later.
#define SPAN_ORDER_WALK_COLUMNS (GAIT_COLUMN_START | GAIT_COLUMN_DURATION | GAIT_COLUMN_SITE)
#define SPAN_ORDER_SURVEY_COLUMNS (SPAN_ORDER_WALK_COLUMNS | GAIT_COLUMN_DEPTH)

enum { SPAN_ORDER_MAX_LATE = 1 << 22 }; // 128 MiB

// Spans of other tracks are passed over.
GAIT_CHECK int span_order_init(struct span_order *order, uint32_t first_track,
                               uint32_t track_count);
void span_order_finish(struct span_order *order); // takes NULL and a zeroed struct

// Fails when more than SPAN_ORDER_MAX_LATE spans are out of order.
GAIT_CHECK int span_order_survey(struct span_order *order, const struct gait_batch *batch);
void span_order_sort(struct span_order *order);

typedef void span_order_visit(const struct ordered_span *span, void *context);

// Hands on the batch's spans and the late ones that belong before them: of each
// track in order of start, parents before children.
void span_order_walk(struct span_order *order, const struct gait_batch *batch,
                     span_order_visit *visit, void *context);
void span_order_finish_walk(struct span_order *order, span_order_visit *visit, void *context);

#endif
