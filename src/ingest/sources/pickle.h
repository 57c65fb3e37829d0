// SPDX-License-Identifier: Apache-2.0
// Reads a pickle as data, of any protocol, and runs nothing of it: what would call code in
// Python (a class, a function) becomes an opaque value that remembers only its name.
#ifndef GAIT_INGEST_PICKLE_H
#define GAIT_INGEST_PICKLE_H

#include "base/arena.h"
#include "ingest/intake.h"

enum pickle_kind {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INT,
    PICKLE_REAL,
    PICKLE_TEXT, // and bytes
    PICKLE_LIST, // and tuples and sets
    PICKLE_DICT, // items: key, value, key, value
    PICKLE_OPAQUE,
    PICKLE_MARK, // never in a finished value
};

// Values refer to each other by number, and may do so in circles.
struct pickle_value {
    enum pickle_kind kind;
    uint32_t count; // of items
    union {
        int64_t integer;
        double real;
        struct slice text; // of an opaque one: "module.name"
        struct {
            uint32_t *items;
            uint32_t room;
        };
    };
};

struct pickle {
    struct arena arena;
    struct pickle_value *values; // by number; 0 is none at all
    size_t count, room;
    uint32_t *stack, *memo;
    size_t depth, stack_room, memo_room;
    uint64_t memo_next; // what MEMOIZE keeps under
    size_t marks;       // on the stack
    uint64_t calls;     // that loading it would have made
    struct slice first; // what the first of them would have called
    bool is_ended;
};

// Reads all of the intake. What is cut off counts as far as it goes, and among the repairs.
GAIT_CHECK int pickle_read(struct pickle *pickle, struct intake *intake, uint32_t *ret_root);
void pickle_finish(struct pickle *pickle); // takes a zeroed struct

static inline const struct pickle_value *pickle_get(const struct pickle *pickle, uint32_t number)
{
    return &pickle->values[number < pickle->count ? number : 0];
}

// A member of a dictionary by its key; 0: there is none, or it is no dictionary.
uint32_t pickle_member(const struct pickle *pickle, uint32_t dict, const char *key);

// The same as a number or a text; `otherwise`, or an empty text, where it is none.
int64_t pickle_member_int(const struct pickle *pickle, uint32_t dict, const char *key,
                          int64_t otherwise);
struct slice pickle_member_text(const struct pickle *pickle, uint32_t dict, const char *key);

#endif
