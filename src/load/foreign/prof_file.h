// SPDX-License-Identifier: Apache-2.0
// A .prof file of Python's cProfile, read whole: one row a function, in the
// file's order. Who called it is not read, but for one mark.
#ifndef GAIT_LOAD_PROF_FILE_H
#define GAIT_LOAD_PROF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/slice.h"

#include <gait/error.h>

struct prof_row {
    struct slice file, name;
    __int128 line;
    __int128 primitive_calls, calls;
    double own_seconds, seconds;
    bool is_top_level; // its caller is pstats' mark for the profiler itself
};

struct prof_file {
    struct arena arena; // owns the rows and, of a file, its bytes
    struct prof_row *rows;
    size_t count;
};

// On failure there is nothing to close.
GAIT_CHECK int prof_file_open(struct prof_file *file, const char *path);
GAIT_CHECK int prof_file_open_memory(struct prof_file *file, struct slice bytes);
void prof_file_close(struct prof_file *file); // takes NULL

// Where rows of a name lie in a list, to find one that is there already.
struct prof_places {
    uint32_t *slots;
    size_t size; // a power of two
};

// Room for `rows` names, in the arena.
GAIT_CHECK int prof_places_init(struct prof_places *places, struct arena *arena, size_t rows);

// The place in `rows` of the one with this name; `count`, noted as its place,
// when there is none.
size_t prof_places_find(struct prof_places *places, const struct prof_row *rows, size_t count,
                        const struct prof_row *row);

#endif
