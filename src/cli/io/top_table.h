// SPDX-License-Identifier: Apache-2.0
// What threads or whole processes did since the last look, the busiest first.
#ifndef GAIT_CLI_TOP_TABLE_H
#define GAIT_CLI_TOP_TABLE_H

#include "sample/sampler.h"

struct top_row {
    int64_t pid, tid; // tid of a process: 0
    uint64_t threads, states[SAMPLE_STATES];
    char name[200]; // of a process its command line
};

struct top_table {
    struct top_row *rows;
    size_t count, room;
    size_t processes; // that have threads, in either view
    bool by_process;  // the caller's wish
};

// Fails for want of memory.
GAIT_CHECK int top_table_fill(struct top_table *table, struct sampler *sampler);
void top_table_finish(struct top_table *table); // takes a zeroed one

#endif
