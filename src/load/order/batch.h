// SPDX-License-Identifier: Apache-2.0
// Rows on their way to a scan's visitor, as columns of the types that the
// public API shows.
#ifndef GAIT_LOAD_BATCH_H
#define GAIT_LOAD_BATCH_H

#include "load/arg_list.h"
#include "load/order/event_filter.h"
#include "load/order/event_frame.h"

// The packed arguments of a batch's rows, and the last ones that were asked for.
struct gait_batch_rows {
    const struct slice *packed; // NULL: none of the rows has any
    uint64_t *const *columns;   // what forms leave open; NULL: no row has a form
    const uint64_t *forms;
    const struct dictionary *dictionary;
    struct arg_list list;
};

struct batch {
    enum gait_kind kind;
    uint32_t track;
    size_t rows, capacity;
    void *memory; // of the columns that are ours, `capacity` rows
    int64_t *start_ns, *duration_ns, *value, *total;
    uint64_t *id, *phase;
    const uint64_t *link, *op; // NULL: zeros
    const int64_t *bytes;
    uint64_t *zeros; // for those
    uint32_t *site, *depth;
    struct slice *packed; // ours, for rows that are added
    struct gait_batch_rows args;
};

#define ASYNC_IS_WHOLE 3 // the phase of a begin and its end in one

struct batch_async {
    int64_t start_ns, duration_ns;
    uint64_t id;
    uint32_t site, track;
};

void batch_finish(struct batch *batch); // takes NULL and a zeroed struct

// Takes those columns of a frame's rows, and of the rows only what `filter`
// wants (NULL: all). The frame must stay as it is until the batch was shown; the
// shard's dictionary, to which args.dictionary points, for as long. The ends of
// asynchronous spans are left out.
GAIT_CHECK int batch_load(struct batch *batch, struct event_frame *frame, uint32_t columns,
                          const struct event_filter *filter);

// The same with all rows, ends of asynchronous spans among them.
GAIT_CHECK int batch_load_all(struct batch *batch, struct event_frame *frame, uint32_t columns);

// What must be decoded of a table for these columns: bits of enum event_role.
uint32_t batch_roles(const struct event_table *table, uint32_t columns);

// Starts a batch that rows are added to, at most `rows`. Its kind and track
// are the caller's to set.
GAIT_CHECK int batch_begin(struct batch *batch, size_t rows);
void batch_add_open(struct batch *batch, const struct open_event *event);
void batch_add_async(struct batch *batch, const struct batch_async *span);

// Sorts by track, then start.
void batch_sort_async(struct batch_async *spans, size_t count);

// The columns asked for.
void batch_show(struct batch *batch, uint32_t columns, struct gait_batch *ret_batch);

#endif
