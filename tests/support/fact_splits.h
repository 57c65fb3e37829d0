// SPDX-License-Identifier: Apache-2.0
// The rows of a rank in slices of any size. A program that includes this is linked so that
// rank_stream_open() is the one below (tests/unit/meson.build).
//
//     literal_each_split(sites, rows, look);   look(trace) makes its checks each time
#ifndef GAIT_FACT_SPLITS_H
#define GAIT_FACT_SPLITS_H

#include "facts/rank_stream.h"
#include "support/fact_literals.h"
#include "support/tap.h"

static size_t literal_slice_rows; // 0: the usual number

int __real_rank_stream_open(struct rank_stream **ret_stream, struct gait_trace *trace,
                            uint32_t shard, const struct stream_wish *wish);
int __wrap_rank_stream_open(struct rank_stream **ret_stream, struct gait_trace *trace,
                            uint32_t shard, const struct stream_wish *wish);

int __wrap_rank_stream_open(struct rank_stream **ret_stream, struct gait_trace *trace,
                            uint32_t shard, const struct stream_wish *wish)
{
    struct stream_wish split = *wish;
    if (literal_slice_rows)
        split.slice_rows = literal_slice_rows;
    return __real_rank_stream_open(ret_stream, trace, shard, &split);
}

// First all rows in one slice; then each in a frame of its own, and a slice begins as soon as
// 1, 2, ... rows wait: from the finest split to one of two pieces.
static inline void literal_each_split_as(const struct literal_site *sites,
                                         const struct literal_row *rows, const char *source,
                                         void (*look)(struct gait_trace *trace))
{
    static struct literal_row apart[LITERAL_MOST_ROWS];
    size_t count = 0;
    for (; rows[count].track; count++) {
        apart[count] = rows[count];
        apart[count].frame = (uint32_t)count;
    }
    apart[count] = (struct literal_row){0};
    for (size_t slice_rows = 0; slice_rows < count; slice_rows++) {
        const int failures = tap.failures;
        struct literal_rank rank;
        literal_open_as(&rank, sites, slice_rows ? apart : rows, source);
        literal_slice_rows = slice_rows;
        look(&rank.trace);
        literal_slice_rows = 0;
        literal_close(&rank);
        if (tap.failures > failures) {
            printf("# in slices of %zu rows (0: in one slice)\n", slice_rows);
            return;
        }
    }
}

static inline void literal_each_split(const struct literal_site *sites,
                                      const struct literal_row *rows,
                                      void (*look)(struct gait_trace *trace))
{
    literal_each_split_as(sites, rows, NULL, look);
}

#endif
