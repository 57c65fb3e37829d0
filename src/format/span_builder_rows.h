// SPDX-License-Identifier: Apache-2.0
// The rows span_builder.c gathers and span_builder_frames.c writes; private to the two.
#ifndef GAIT_FORMAT_WEAVE_ROWS_H
#define GAIT_FORMAT_WEAVE_ROWS_H

#include "format/span_builder.h"

// Rows of spans begun in an earlier frame grow downwards from here, those begun
// in this one upwards: both ends stay in order of start without sorting.
#define SPAN_BUILDER_HEADROOM 1024

#define SPAN_BUILDER_MAX_COLUMNS 6
#define SPAN_BUILDER_STACK_ROWS 4096 // deeper nesting takes the longer way

enum span_builder_table {
    SPAN_BUILDER_SPAN,
    SPAN_BUILDER_MARK,
    SPAN_BUILDER_COUNTER,
    SPAN_BUILDER_COUNTER_REAL,
    SPAN_BUILDER_ASYNC,
    SPAN_BUILDER_FLOW,
    SPAN_BUILDER_STEP,
    SPAN_BUILDER_MEMORY,
    SPAN_BUILDER_TABLE_COUNT,
};

struct span_builder_rows {
    uint64_t *columns[SPAN_BUILDER_MAX_COLUMNS];
    uint32_t begin, end; // rows lie in [begin, end)
    uint64_t last;       // largest tick
    uint64_t events;
};

// Arguments of spans begun in this frame: a chain of pieces a row, because the
// arguments of a parent may come after those of its child.
struct span_builder_piece {
    uint32_t before; // offset of the piece before, 0 = none
    uint32_t bytes;
};

struct span_builder {
    struct table_writer *writer;
    uint32_t max_slots;
    struct span_builder_rows tables[SPAN_BUILDER_TABLE_COUNT];
    uint32_t *args_of_row; // of spans: offset of the last piece, 0 = none (all, to begin with)
    struct slice *args_column;
    bool has_args;
    struct buffer pieces, joined;
    uint64_t *memory; // all columns
    uint32_t *stack;  // rows of open spans, SPAN_BUILDER_STACK_ROWS + 1
};

void span_builder_reset(struct span_builder *builder); // after a flush: no rows

// Takes a run of begins, ends and nexts up to position `until`; how many slots,
// 0 when the record at hand needs span_builder.c.
uint64_t span_builder_take_spans(struct span_builder *builder, struct span_builder_track *track,
                                 const struct slot *slots, uint64_t mask, uint64_t until);

struct span_builder_table_shape {
    enum table_id table;
    uint16_t column_count;
    uint16_t args_column; // 0: none
    enum column_transform transforms[SPAN_BUILDER_MAX_COLUMNS];
};
extern const struct span_builder_table_shape span_builder_shapes[SPAN_BUILDER_TABLE_COUNT];

#endif
