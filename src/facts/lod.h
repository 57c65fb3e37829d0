// SPDX-License-Identifier: Apache-2.0
// Reads the levels of detail of a rank (lod_row.h) out of its file of facts: what a timeline asks.
//
//     lod_open(&lod, trace, shard)                 NULL: not on record
//     lod_lanes(lod, &count), lod_groups(lod, &count)
//     lod_read(lod, &window, &rows)                1: here they are; 0: not on record
//     lod_rows_finish(&rows), lod_close(lod)
//
// To open it reads the lists of lanes and groups, then of a window the frames that touch it alone.
#ifndef GAIT_FACTS_LOD_H
#define GAIT_FACTS_LOD_H

#include <gait/trace.h>

#include "facts/lod_row.h"

struct lod;

GAIT_CHECK int lod_open(struct lod **ret_lod, struct gait_trace *trace, uint32_t shard);
void lod_close(struct lod *lod); // takes NULL

// Depths of tracks, and counters, as they were met.
const struct lod_lane *lod_lanes(const struct lod *lod, size_t *ret_count);

// By level, then time.
const struct lod_group *lod_groups(const struct lod *lod, size_t *ret_count);

// Rows of spans that touch [since_ns, until_ns).
struct lod_window {
    unsigned level;
    uint32_t track; // of the trace
    int64_t since_ns, until_ns;
};

struct lod_span { // a row, in ns
    int64_t start_ns, end_ns;
    uint64_t count, busy_ns, longest_ns;
    uint32_t site, depth, frame;
    bool is_counter; // then values in place of busy and longest, and no frame
    double least, most, last;
};

struct lod_raw { // spans that start there have no row: they are read from their frames
    int64_t since_ns, until_ns;
};

struct lod_rows {
    struct lod_span *spans; // by lane, then time, group after group
    size_t count, capacity;
    struct lod_raw *raws;
    size_t raw_count, raw_capacity;
};

GAIT_CHECK int lod_read(struct lod *lod, const struct lod_window *window,
                        struct lod_rows *ret_rows);
void lod_rows_finish(struct lod_rows *rows); // takes a zeroed struct

#endif
