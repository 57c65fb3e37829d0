// SPDX-License-Identifier: Apache-2.0
// Reads what Python's marshal module wrote, as far as plain data goes: numbers,
// texts, tuples, lists, dicts. The bytes may be anybody's.
#ifndef GAIT_LOAD_MARSHAL_H
#define GAIT_LOAD_MARSHAL_H

#include <stdint.h>

#include "base/arena.h"
#include "base/slice.h"

#include <gait/error.h>

enum marshal_kind {
    MARSHAL_NONE,
    MARSHAL_INTEGER,
    MARSHAL_REAL,
    MARSHAL_TEXT, // UTF-8, lone surrogates as they came
    MARSHAL_BYTES,
    MARSHAL_TUPLE, // lists too
    MARSHAL_DICT,  // keys and values in turn, as they were written
    MARSHAL_OTHER, // a value that is skipped: an ellipsis, a complex number
};

// A value may be its own part: whoever walks one must know how deep to go.
struct marshal_value {
    enum marshal_kind kind;
    uint32_t count; // items; of a dict keys and values together
    union {
        __int128 integer;
        double real;
        struct slice text; // of the bytes that were read
        const struct marshal_value **items;
    };
};

// The value that `bytes` begin with; it lives in the arena, its texts in `bytes`.
GAIT_CHECK int marshal_read(struct slice bytes, struct arena *arena,
                            const struct marshal_value **ret_value);

#endif
