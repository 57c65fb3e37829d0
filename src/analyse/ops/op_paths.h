// SPDX-License-Identifier: Apache-2.0
// Device time of ops. What an op launched runs later, when the op is long over: kept is by which
// row of ops it was called, and these by which, which are few, and for each launch one number.
//
// An op that is told twice (the only child of its parent, with its name) is known as such when its
// parent ends. Until then what it launched is noted for it, too, and taken back if it goes.
#ifndef GAIT_ANALYSE_OP_PATHS_H
#define GAIT_ANALYSE_OP_PATHS_H

#include <stdbool.h>

#include "analyse/ops/op_rows.h"

struct op_place {            // zeroed: of no op
    uint32_t path;           // number + 1
    uint32_t own, innermost; // doubtful ops: itself, and the nearest one around or itself; + 1
    uint32_t doubts;         // around it, and itself
};

struct op_path {
    uint32_t parent, row; // parent: number + 1
    int64_t device_ns;
};

enum doubt { DOUBT_OPEN, DOUBT_KEPT, DOUBT_GONE };

struct op_doubt {
    uint32_t row, parent_row;
    uint32_t parent, outer; // doubtful ops: its parent, and the nearest one around it; + 1
    enum doubt state;
    int64_t device_ns, self_ns; // noted while it is open
};

struct op_launched {
    uint32_t number;
    bool is_there;
    struct op_place place;
};

struct op_paths {
    struct op_rows *rows;
    struct tuple_map keys; // parent and row
    struct op_path *paths;
    size_t path_room;
    struct op_doubt *doubts;
    size_t doubt_count, doubt_room;
    struct op_launched *launched; // by the number of the call; the newest calls
};

GAIT_CHECK int op_paths_init(struct op_paths *paths, struct op_rows *rows);
void op_paths_finish(struct op_paths *paths); // takes a zeroed struct

// The place of an op that is called from `around`; `is_doubtful`: it may be told twice.
GAIT_CHECK int op_paths_enter(struct op_paths *paths, const struct op_place *around, uint32_t row,
                              bool is_doubtful, struct op_place *ret_place);

// Whether it was told twice is known now.
void op_paths_settle(struct op_paths *paths, const struct op_place *place, bool is_gone);

void op_paths_launch(struct op_paths *paths, uint32_t number, const struct op_place *place);
void op_paths_run(struct op_paths *paths, uint32_t number, int64_t device_ns);

// At the end: adds the times to the rows.
GAIT_CHECK int op_paths_sum(struct op_paths *paths);

#endif
