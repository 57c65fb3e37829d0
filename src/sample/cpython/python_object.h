// SPDX-License-Identifier: Apache-2.0
// Objects of another process: of which type they are, and what the types are
// called. Nothing that is read is believed: any word may lead anywhere, and the
// number of reads is bounded.
#ifndef GAIT_SAMPLE_PYTHON_OBJECT_H
#define GAIT_SAMPLE_PYTHON_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample/cpython/layout.h"
#include "sample/remote/memory.h"

enum object_kind {
    OBJECT_OTHER,
    OBJECT_NONE,
    OBJECT_BOOL,
    OBJECT_INT,
    OBJECT_REAL,
    OBJECT_STR,
    OBJECT_BYTES,
    OBJECT_TUPLE,
    OBJECT_LIST,
    OBJECT_DICT,
    OBJECT_SET,
    OBJECT_FROZENSET,
    OBJECT_CELL,
    OBJECT_TYPE,
};

enum { OBJECT_TYPE_NAME = 160, OBJECT_TYPES = 64, OBJECT_HEAD = LAYOUT_HEAD_BYTES };

struct object_type {
    uint64_t address;            // 0: a free slot
    enum object_kind kind;       // or what it is derived from
    bool is_exact;               // the type itself, not one derived from it
    char name[OBJECT_TYPE_NAME]; // "module.Name", of builtins without "builtins."
};

struct object_reader {
    struct memory *memory;
    const struct layout *layout;
    uint32_t left;                          // reads that may still be made
    struct object_type types[OBJECT_TYPES]; // by address
};

struct object {
    uint64_t address;
    const struct object_type *type; // until the next object is read
    uint8_t head[OBJECT_HEAD];      // its first bytes; zeroes where no memory is
};

void object_reader_init(struct object_reader *reader, struct memory *memory,
                        const struct layout *layout);

// All of it or false; counted.
bool object_get(struct object_reader *reader, uint64_t address, void *out, size_t bytes);

// A str, as much of it as fits; false where none lies.
bool object_get_text(struct object_reader *reader, uint64_t address, char *out, size_t room);

// What lies at that address if it is a type; else NULL. Until the next is asked for.
const struct object_type *object_type_at(struct object_reader *reader, uint64_t address);

// False where no object lies.
bool object_read(struct object_reader *reader, uint64_t address, struct object *object);

// A word of the object, by its place in it.
uint64_t object_word(const struct object *object, int32_t offset);

// A dict, entry by entry in the order of their making.
struct dict_walk {
    struct object_reader *reader;
    uint64_t used;               // entries it says it has
    uint64_t entries, count, at; // address, how many there are, the next one
    uint64_t values;             // of a dict that shares its keys: apart; 0: beside them
    uint32_t step;               // bytes an entry
    uint64_t key, value;         // addresses, of the entry found last
};

// False where no dict lies.
bool dict_walk_begin(struct dict_walk *walk, struct object_reader *reader,
                     const struct object *dict);
bool dict_walk_next(struct dict_walk *walk);

#endif
