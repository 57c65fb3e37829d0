// SPDX-License-Identifier: Apache-2.0
// Forms: what the arguments of many events have in common is kept once, and what differs
// goes into columns (docs/decisions/0018-import.md). Which is which shows as they come: a
// value that keeps making new forms becomes a blank.
#ifndef GAIT_INGEST_FORM_TABLE_H
#define GAIT_INGEST_FORM_TABLE_H

#include "base/buffer.h"
#include "format/args.h"
#include "format/schema.h"
#include "ingest/names/name_index.h"

enum { FORM_MOST_PARTS = 96 };

// One argument, or one field, of an event.
struct form_part {
    struct args_item item; // of a blank kind or not: the value as it came
    bool is_field;
};

struct form_shape;

// What a key's values are put into when they become blanks.
enum form_place { FORM_ANYWHERE, FORM_LINK, FORM_OP, FORM_BYTES, FORM_FIXED };

struct form_table {
    struct name_index packed; // arguments and fields of each form, one behind the other
    struct name_index shapes; // keys and kinds of each
    struct form_about *forms; // by number - 1
    size_t form_room;
    struct form_shape *shape_list;
    size_t shape_room;
    uint8_t *places; // of keys, by string id: enum form_place and more
    size_t place_room;
    unsigned next_value; // of enum blank, for keys that have none yet
    struct buffer scratch, key;
    size_t args_bytes;               // of the form in the scratch
    uint8_t blanks[FORM_MOST_PARTS]; // of the parts found last; BLANK_COUNT: none
};

// What an event has of its form: its number (0: no arguments), and the blanks.
struct form_event {
    uint32_t form;
    uint16_t mask; // bit b: values[b] is set
    uint64_t values[BLANK_COUNT];
};

struct form_about {
    size_t args_bytes; // the rest of its bytes are fields
    uint16_t mask;
};

void form_table_init(struct form_table *table);
void form_table_finish(struct form_table *table);

// Says where the numbers of that key (a string id) belong, and that they are no constants.
GAIT_CHECK int form_table_place(struct form_table *table, uint32_t key, enum form_place place);

// Finds or makes the form of these parts, and fills in what it leaves open.
GAIT_CHECK int form_table_find(struct form_table *table, const struct form_part *parts,
                               size_t count, struct form_event *ret_event);

// The bytes of a form, in two parts.
void form_table_bytes(const struct form_table *table, uint32_t form, struct slice *ret_args,
                      struct slice *ret_fields);

#endif
