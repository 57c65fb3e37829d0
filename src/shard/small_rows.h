// SPDX-License-Identifier: Apache-2.0
// Rows of the small tables (metadata, strings, sites, tracks, clocks) on their way into a
// shard. They are gathered, since a frame each would be mostly header.
//
// A row that finds no memory is remembered, and small_rows_write() says so. Used by one
// thread at a time.
#ifndef GAIT_SHARD_SMALL_ROWS_H
#define GAIT_SHARD_SMALL_ROWS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "format/journal.h"

struct small_rows {
    struct buffer entries; // of the journal's form
    int status;            // of the first row that failed
};

void small_rows_init(struct small_rows *rows);
void small_rows_finish(struct small_rows *rows); // takes NULL and a zeroed struct

void small_rows_add(struct small_rows *rows, const struct journal_row *row);

// Metadata; `json` may be NULL: nothing to say. Text is repaired and escaped.
void small_rows_meta(struct small_rows *rows, const char *key, const char *json);
void small_rows_meta_number(struct small_rows *rows, const char *key, int64_t number);
void small_rows_meta_text(struct small_rows *rows, const char *key, const char *text);

// Which process writes the shard, as what, since when (of the wall clock), and for which run.
void small_rows_who(struct small_rows *rows, const char *role, int64_t start_ns);

void small_rows_string(struct small_rows *rows, uint64_t id, const char *text);

struct small_track {
    uint64_t id, kind, clock, parent, os_id;
    bool is_internal;
    const char *key, *name;
};
void small_rows_track(struct small_rows *rows, const struct small_track *track);

// When clock `clock` stood at `anchor->tick`.
void small_rows_anchor(struct small_rows *rows, uint64_t clock, const struct clock_anchor *anchor);

// Puts all rows into frames and forgets them; fails where one of them failed.
GAIT_CHECK int small_rows_write(struct small_rows *rows, struct table_writer *tables);

#endif
