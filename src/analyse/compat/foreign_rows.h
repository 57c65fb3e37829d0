// SPDX-License-Identifier: Apache-2.0
// The spans of one rank as other tools read them: with the arguments that they look at, all
// in memory. Only who imitates such a tool needs them.
#ifndef GAIT_ANALYSE_FOREIGN_ROWS_H
#define GAIT_ANALYSE_FOREIGN_ROWS_H

#include <stdbool.h>
#include <string.h>

#include <gait/trace.h>

// Real arguments, by their place in foreign_row.reals; NAN where an event has none.
enum foreign_real { FOREIGN_BANDWIDTH, FOREIGN_BLOCKS, FOREIGN_OCCUPANCY, FOREIGN_REALS };

enum { FOREIGN_NONE = -1 };

// What follows from a row's names alone; decided once for each site.
struct foreign_kind {
    uint8_t role, tb_type, hta_kind; // the enums of these names
    bool is_known : 1, is_loader : 1, is_tb_collective : 1, is_graph_launch : 1;
};

struct foreign_row {
    int64_t start_ns, end_ns;
    int64_t stream, correlation, external, device; // arguments; FOREIGN_NONE without
    int64_t awaited, record; // the stream that a wait is for, and the call that recorded the event
    double reals[FOREIGN_REALS];
    const char *category, *name;
    uint32_t track;
    struct foreign_kind kind;
};

struct foreign_rows {
    struct foreign_row *rows; // in order of start, the longer ones first
    size_t count, capacity;
    uint32_t number; // of the shard
    struct gait_shard_info shard;
    int64_t zero_ns; // what the trace itself calls 0
    // correlations that an arrow "ac2g" starts at, and those of launches of graphs, in order
    uint64_t *arrows;
    size_t arrow_count, arrow_capacity;
};

bool foreign_rows_has_arrow(const struct foreign_rows *rows, int64_t correlation);

static inline bool foreign_begins(const char *name, const char *text)
{
    return strncmp(name, text, strlen(text)) == 0;
}

// As Python reads the trace's decimal text of a time: microseconds in a double.
double foreign_us(const struct foreign_rows *rows, int64_t at_ns);

// All ranks of a run that have any row, in the order of the shards.
struct foreign_run {
    struct foreign_rows *ranks;
    size_t count;
};
GAIT_CHECK int foreign_run_read(struct foreign_run *run, struct gait_trace *trace);
void foreign_run_finish(struct foreign_run *run);

#endif
