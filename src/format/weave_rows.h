// SPDX-License-Identifier: Apache-2.0
// The rows weave.c gathers and weave_frames.c writes; private to the two.
#ifndef GAIT_FORMAT_WEAVE_ROWS_H
#define GAIT_FORMAT_WEAVE_ROWS_H

#include "format/weave.h"

// Rows of spans begun in an earlier frame grow downwards from here, those begun
// in this one upwards: both ends stay in order of start without sorting.
#define WEAVE_HEADROOM 1024

#define WEAVE_MAX_COLUMNS 6
#define WEAVE_STACK_ROWS 4096 // deeper nesting takes the longer way

enum weave_table {
    WEAVE_SPAN,
    WEAVE_MARK,
    WEAVE_COUNTER,
    WEAVE_COUNTER_REAL,
    WEAVE_ASYNC,
    WEAVE_FLOW,
    WEAVE_STEP,
    WEAVE_MEMORY,
    WEAVE_TABLE_COUNT,
};

struct weave_rows {
    uint64_t *columns[WEAVE_MAX_COLUMNS];
    uint32_t begin, end; // rows lie in [begin, end)
    uint64_t last;       // largest tick
    uint64_t events;
};

// Arguments of spans begun in this frame: a chain of pieces a row, because the
// arguments of a parent may come after those of its child.
struct weave_piece {
    uint32_t before; // offset of the piece before, 0 = none
    uint32_t bytes;
};

struct weave {
    struct table_writer *writer;
    struct weave_rows tables[WEAVE_TABLE_COUNT];
    uint32_t *args_of_row; // of spans: offset of the last piece, 0 = none (all, to begin with)
    struct slice *args_column;
    bool has_args;
    struct buffer pieces, joined;
    uint64_t *memory; // all columns
    uint32_t *stack;  // rows of open spans, WEAVE_STACK_ROWS + 1
};

// Takes a run of begins, ends and nexts up to position `until`; how many slots,
// 0 when the record at hand needs weave.c.
uint64_t weave_take_spans(struct weave *weave, struct weave_track *track, const struct slot *slots,
                          uint64_t mask, uint64_t until);

struct weave_table_shape {
    enum table_id table;
    uint16_t column_count;
    uint16_t args_column; // 0: none
    enum column_transform transforms[WEAVE_MAX_COLUMNS];
};
extern const struct weave_table_shape weave_shapes[WEAVE_TABLE_COUNT];

#endif
