// SPDX-License-Identifier: Apache-2.0
// Rows of one lane, packed as they come, and given back in order of time. They come nearly
// in order: some wait in a small window that is sorted, and where that does not do, a new
// run begins. Runs are merged when they are read.
#ifndef GAIT_INGEST_ROW_RUNS_H
#define GAIT_INGEST_ROW_RUNS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "ingest/form_table.h"

struct row {
    int64_t start;     // ns
    uint64_t duration; // ns
    uint64_t id;       // of async spans and flows; of a counter its value
    uint32_t site;
    uint8_t phase;
    struct form_event form;
};

struct row_run {
    size_t begin, end; // in the packed bytes
};

struct row_runs {
    struct buffer packed;
    struct row *window; // the newest rows
    size_t window_count, window_room;
    struct row_run *runs;
    size_t run_count, run_room;
    uint64_t count;    // of all rows
    struct row before; // the one packed last
};

void row_runs_init(struct row_runs *runs);
void row_runs_finish(struct row_runs *runs);

GAIT_CHECK int row_runs_add(struct row_runs *runs, const struct row *row);

// Packs what waits in the window: no more rows come.
GAIT_CHECK int row_runs_settle(struct row_runs *runs);

// Reads one run from its begin on.
struct row_reading {
    const uint8_t *at, *end;
    const struct form_table *forms;
    struct row row; // the current one
};

void row_reading_begin(struct row_reading *reading, const struct row_runs *runs, size_t run,
                       const struct form_table *forms);
bool row_reading_next(struct row_reading *reading); // false behind the last one

// Which of two rows comes first: by start, the longer one before the shorter.
static inline bool row_is_before(const struct row *a, const struct row *b)
{
    return a->start != b->start ? a->start < b->start : a->duration > b->duration;
}

#endif
