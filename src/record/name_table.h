// SPDX-License-Identifier: Apache-2.0
// The process's dictionary: strings and sites by content, numbered from 1, kept
// over sessions and forks. Not thread-safe by itself: callers hold the recorder's lock.
#ifndef GAIT_RECORD_NAME_TABLE_H
#define GAIT_RECORD_NAME_TABLE_H

#include <stdint.h>

#include "base/slice.h"
#include "format/journal.h"
#include "format/ring_file.h"

#define NAME_TABLE_MAX_STRINGS (1u << 17)

// Ids that every shard has.
enum name_table_reserved {
    STRING_GAIT = RING_LOSS_END, // below: the reasons for losses
    STRING_WRITE,
    STRING_RESERVED_END, // the keys of ops follow: enum slot_op_key
};
#define SITE_WRITE 1 // category "gait", name "write": the drainer's own span

// The id of a text; 0 for the empty one and when the table is full. `is_new`
// says that the row below must be put on record.
uint32_t name_table_string(struct slice text, bool *ret_is_new);

struct site_key {
    uint32_t category, name, file, line; // string ids
};
uint32_t name_table_site(const struct site_key *key, bool *ret_is_new);

uint32_t name_table_string_count(void); // ids are 1 … count
uint32_t name_table_site_count(void);
uint64_t name_table_overflow(void); // texts and sites that found no room

// The dictionary row of an id, borrowing its text.
struct journal_row name_table_string_row(uint32_t id);
struct journal_row name_table_site_row(uint32_t id);

#endif
