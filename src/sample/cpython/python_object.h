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

enum { OBJECT_NAME_ROOM = 32 }; // of names that are looked for
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

// How many digits of 30 bits an int has, and whether it is below zero: 3.12 packs both into
// one word.
uint64_t object_digits(const struct layout *layout, const struct object *object,
                       bool *ret_is_negative);

// An int of 64 bits without sign; false where it is none.
bool object_uint(struct object_reader *reader, const struct object *object, uint64_t *ret_value);

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

// The same of keys that several share, and one's values, which lie apart (0: beside the keys).
bool dict_walk_places(struct dict_walk *walk, struct object_reader *reader, uint64_t keys,
                      uint64_t values);

// The value of the next entry with that name, 0 if there is none; shorter than
// OBJECT_NAME_ROOM.
uint64_t dict_walk_find(struct dict_walk *walk, const char *name);

#endif
