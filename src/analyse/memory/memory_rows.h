// SPDX-License-Identifier: Apache-2.0
// What gait's recordings tell of memory, kept while a run is read once for everyone.
#ifndef GAIT_ANALYSE_MEMORY_ROWS_H
#define GAIT_ANALYSE_MEMORY_ROWS_H

#include <stdbool.h>

#include "load/pass/pass.h"

// Nobody looks for the peak of more: it would take a second.
enum { MEMORY_MOST_ROWS = 5000000 };

struct memory_row {
    int64_t at_ns, bytes;
    uint64_t address;
    uint32_t site, track;
    uint32_t order; // of rows of one time
    bool is_window; // one begins
};

struct memory_rows {
    const struct gait_trace *trace;
    struct memory_row *rows; // once all are there: in order of time
    size_t count, room;
};

extern const struct analysis memory_rows_analysis; // the answer is a struct memory_rows

void memory_rows_sort(struct memory_rows *rows);
void memory_rows_finish(struct memory_rows *rows); // takes a zeroed struct

#endif
