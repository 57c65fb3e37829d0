// SPDX-License-Identifier: Apache-2.0
// Finds the patterns of events that follow one another. A trace repeats itself: what came
// behind the last few events the time before is tried first.
#ifndef GAIT_INGEST_PATTERN_PATTERN_WALK_H
#define GAIT_INGEST_PATTERN_PATTERN_WALK_H

#include "ingest/pattern/chrome_pattern.h"

struct pattern_walk {
    const struct pattern_table *table;
    uint32_t *log;             // patterns + 1 of the newest events, in a ring
    uint32_t *places;          // by the path: where in the log it was last
    uint32_t logged;           // events in the log, ever
    uint32_t replay;           // the place in it that the next event may be like
    uint32_t path;             // hash of the last few patterns
    struct pattern_branch end; // where the search for what fitted nothing ended
};

void pattern_walk_init(struct pattern_walk *walk, const struct pattern_table *table);
void pattern_walk_finish(struct pattern_walk *walk); // takes a zeroed one

// The pattern that the text begins with: its number of bytes there, and the row filled in;
// 0 if none fits.
size_t pattern_walk_match(struct pattern_walk *walk, struct slice text,
                          const struct pattern **ret_pattern, struct row *ret_row);

// Notes which pattern + 1 the event had that was not found, once it is learnt; 0: none.
void pattern_walk_note(struct pattern_walk *walk, uint32_t number);

#endif
