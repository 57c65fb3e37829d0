// SPDX-License-Identifier: Apache-2.0
// Rows of one lane, packed as they come, and given back in order of time. They come nearly
// in order: some wait in a small window that is sorted, and where that does not do, a new
// run begins. Runs are merged when they are read.
#ifndef GAIT_INGEST_ROW_RUNS_H
#define GAIT_INGEST_ROW_RUNS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "ingest/form_table.h"

// A duration that ends with the span around it, or with the trace.
#define ROW_UNFINISHED UINT64_MAX

struct row {
    int64_t start;     // ns
    uint64_t duration; // ns
    uint64_t id;       // of async spans and flows; of a counter its value
    uint32_t site;
    uint8_t phase;
    struct form_event form;
};

struct row_run {
    uint64_t begin, end; // in the packed bytes, those in the spill included
};

// A file without a name for packed rows that memory should not hold; all lanes share it.
struct row_spill {
    int fd; // -1: there is none yet, -2: there can be none
    uint64_t bytes;
    size_t held; // bytes that lanes have in memory
};

// Packed bytes of a lane that lie in the spill.
struct row_extent {
    uint64_t begin, offset;
    size_t bytes;
};

struct row_runs {
    struct row_spill *spill; // may be NULL
    struct row_extent *extents;
    size_t extent_count, extent_room;
    uint64_t base; // how many packed bytes are in extents; the rest is here
    struct buffer packed;
    struct row *window; // the newest rows
    size_t window_count, window_room;
    struct row_run *runs;
    size_t run_count, run_room;
    uint64_t count;    // of all rows
    struct row before; // the one packed last
};

void row_spill_finish(struct row_spill *spill);

void row_runs_init(struct row_runs *runs, struct row_spill *spill);
void row_runs_finish(struct row_runs *runs);

GAIT_CHECK int row_runs_add(struct row_runs *runs, const struct row *row);

// Packs what waits in the window: no more rows come.
GAIT_CHECK int row_runs_settle(struct row_runs *runs);

// Reads one run from its begin on.
struct row_reading {
    const uint8_t *at, *end;
    const struct row_runs *runs;
    const struct form_table *forms;
    uint8_t *room;       // what was read of extents; NULL: all is in memory
    uint64_t next, stop; // of the packed bytes, behind `end`
    size_t extent;       // where `next` is
    struct row row;      // the current one
};

void row_reading_begin(struct row_reading *reading, const struct row_runs *runs, size_t run,
                       const struct form_table *forms);
void row_reading_end(struct row_reading *reading); // takes a zeroed one

// The next row: 1, 0 behind the last one, or an error.
GAIT_CHECK int row_reading_next(struct row_reading *reading);

// Which of two rows comes first: by start, the longer one before the shorter.
static inline bool row_is_before(const struct row *a, const struct row *b)
{
    return a->start != b->start ? a->start < b->start : a->duration > b->duration;
}

#endif
