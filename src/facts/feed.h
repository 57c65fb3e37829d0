// SPDX-License-Identifier: Apache-2.0
// The rows of a slice, of all tracks in one order of start: those of sites that the asker
// gave a kind. Of rows that start together the smaller kind comes first, then the longer one.
#ifndef GAIT_FACTS_FEED_H
#define GAIT_FACTS_FEED_H

#include <stdbool.h>

#include "facts/fact_slice.h"

enum { FEED_NO_KIND = UINT8_MAX, FEED_KINDS = 16 };

struct feed_head { // of a track: the row that is due
    int64_t start_ns, end_ns;
    const struct fact_row *row, *behind;
    const struct fact_rows *track;
    uint8_t kind;
    int64_t reach_ns[FEED_KINDS]; // how far rows of a kind reached so far
};

struct feed {             // zeroed: unused
    const uint8_t *kinds; // of a site
    struct feed_head *heads;
    size_t count, capacity;
    bool is_begun;      // the first head was handed out
    uint32_t outermost; // of these kinds (1u << kind) what others of its track cover is left out
};

void feed_finish(struct feed *feed); // takes a zeroed struct

// Starts on a slice; the memory is used again. `kinds` has a place for each site of the trace.
GAIT_CHECK int feed_begin(struct feed *feed, const struct fact_slice *slice, const uint8_t *kinds);

// The head that is due, until the next call; NULL at the end.
const struct feed_head *feed_next(struct feed *feed);

#endif
