// SPDX-License-Identifier: Apache-2.0
// What every question about single rows reads: all spans of a rank in slices of time. A
// slice holds the rows that start in it, so what reaches beyond it was begun in it.
#ifndef GAIT_FACTS_FACT_SLICE_H
#define GAIT_FACTS_FACT_SLICE_H

#include <stddef.h>
#include <stdint.h>

#include <gait/trace.h>

// What may be asked for beside times and sites.
enum { FACT_LINKS = 1, FACT_ARGS = 2 };

#define FACT_OPEN INT64_MAX // the end of what was still open

struct fact_row {
    int64_t start_ns, end_ns; // end: FACT_OPEN, or no earlier than the start
    uint64_t link;            // to the call that started it, of its recording; 0: not known
    uint32_t site, depth;
    uint32_t piece, place; // where it stands: for fact_args()
};

// Of one track: by start; of rows that start together the outer ones come first, as their depths
// or, where frames meet, their lengths tell. Slice after slice.
struct fact_rows {
    uint32_t track, shard;
    const struct fact_row *rows;
    size_t count;
};

struct launches;
struct fact_pieces;

struct fact_slice {
    const struct gait_trace *trace;
    int64_t until_ns;               // all rows start before; INT64_MAX: the last slice
    const struct fact_rows *tracks; // those with rows
    size_t count;
    const struct launches *launches;  // of these rows and of those before
    const struct fact_pieces *pieces; // where rows stand
};

// The frame of its shard in which a row stands; FACT_NO_FRAME for what was still open.
#define FACT_NO_FRAME UINT32_MAX
uint32_t fact_frame(const struct fact_slice *slice, const struct fact_row *row);

// The arguments of a row by their keys (load/arg_keys.h).
struct arg_keys;
GAIT_CHECK int fact_args(const struct fact_slice *slice, const struct fact_row *row,
                         struct arg_keys *keys, struct gait_arg *ret_args);

// All of them.
struct arg_list;
GAIT_CHECK int fact_arg_list(const struct fact_slice *slice, const struct fact_row *row,
                             struct arg_list *list);

#endif
