// SPDX-License-Identifier: Apache-2.0
// Levels of detail: rows that stand for many spans, so that a look from far away needs few. Time
// is cut into bins of 2^level ns; a row has the spans of one lane (a depth of a track) that start
// in one bin, and ends where nothing was open for longer than half a bin. Levels go up by two.
//
// Rows of a level stand in groups of time. Of a group that has few spans a row nothing is kept: who
// looks there reads the spans themselves, no more than LOD_ROW_SPANS for each row that was left
// out.
#ifndef GAIT_FACTS_LOD_ROW_H
#define GAIT_FACTS_LOD_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LOD_SINGLE = 0, // the level of collectives: a row each, all kept
    LOD_FIRST = 6,
    LOD_LAST = 62,
    LOD_STEP = 2,
    LOD_LEVELS = (LOD_LAST - LOD_FIRST) / LOD_STEP + 1,
    LOD_ROW_SPANS = 32,
    LOD_GROUP_ROWS = 2048,
    LOD_MOST_DEPTH = 255, // what is deeper counts as this deep
};

// Times are in units of 2^(level - 6) ns, a 64th of a bin, rounded so that a row covers its spans.
// Exact ones would double the file.
enum { LOD_BIN_BITS = 6 };

static inline unsigned lod_unit_bits(unsigned level)
{
    return level > LOD_BIN_BITS ? level - LOD_BIN_BITS : 0;
}

// Of a counter busy, longest and last are bits of doubles: the least value, the most and the last.
struct lod_row {
    int64_t start;                  // units since the epoch
    uint64_t length, busy, longest; // units; busy: the sum of the spans' lengths
    uint64_t count, last;
    uint32_t site;  // of the longest; of spans as long the first; of a counter its own
    uint32_t lane;  // place in the list of lanes
    uint32_t frame; // in which the first span stands, of the track's shard; or FACT_NO_FRAME
};

struct lod_lane {          // spans of a depth of a track, or values of a counter
    uint32_t track, depth; // track: of the trace
    uint32_t counter;      // its site; GAIT_NO_SITE: spans
    uint64_t spans;
    int64_t start_ns, end_ns; // of all its spans
};

struct lod_group { // its rows start in [since_ns, until_ns) and end by reach_ns
    uint32_t level;
    bool is_kept;
    int64_t since_ns, until_ns, reach_ns;
    uint64_t rows, spans;
};

struct fact_list;
extern const struct fact_list lod_row_list, lod_lane_list, lod_group_list;

#endif
