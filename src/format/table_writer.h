// SPDX-License-Identifier: Apache-2.0
// Builds frames from columns in memory and appends them to a buffer.
//
//     table_begin(&w, TABLE_MARK, track, rows);
//     table_put(&w, 0, TRANSFORM_DELTA, start);
//     table_put(&w, 1, TRANSFORM_NONE, site);
//     status = table_end(&w, &about);
//
// A put that fails is remembered and reported by table_end(), which then
// appends nothing. A column that is zero in all rows is left out by itself.
#ifndef GAIT_FORMAT_TABLE_WRITER_H
#define GAIT_FORMAT_TABLE_WRITER_H

#include "base/buffer.h"
#include "base/slice.h"
#include "format/frame.h"
#include "format/schema.h"

struct table_writer {
    struct buffer *out;     // frames go here
    struct buffer payload;  // blobs of the frame in the making
    struct buffer scratch;  // one column before compression
    struct buffer nest;     // gaps and tails
    void *zstd, *workspace; // compression context, made once, and its memory
    int level;              // of zstd for all but times; 0: store, do not compress
    uint64_t sequence;      // of the next frame
    uint32_t rows, columns; // of the frame in the making; columns put so far
    uint32_t put;           // bit i: column i was put, stored or left out
    uint16_t table;
    uint32_t track;
    bool has_first;
    uint64_t first; // what times count from
    int status;     // first failure of this frame
    uint8_t directory[FRAME_DIRECTORY_BYTES(SCHEMA_MAX_COLUMNS)];
    uint8_t rests[TABLE_COUNT][SCHEMA_MAX_COLUMNS]; // frames to store a column as it is
};

// What the caller knows of the frame beyond its columns.
struct table_about {
    uint64_t first, last; // ticks
    uint32_t events;
};

// All memory is taken here: columns up to `max_rows` never allocate again as
// long as bytes columns stay below `max_bytes` a frame. `out` is the caller's:
// it needs the room to take each frame.
GAIT_CHECK int table_writer_init(struct table_writer *writer, struct buffer *out, size_t max_rows,
                                 size_t max_bytes);

// The same with another level of compression than a recorder can afford, from 1 to 19.
GAIT_CHECK int table_writer_set_level(struct table_writer *writer, int level);

void table_writer_finish(struct table_writer *writer); // takes NULL and a zeroed struct

void table_begin(struct table_writer *writer, enum table_id table, uint32_t track, uint32_t rows);

// Lets times count from `first`, which table_end() must then be told too.
void table_count_from(struct table_writer *writer, uint64_t first);

void table_put(struct table_writer *writer, uint16_t column, enum column_transform transform,
               const uint64_t *values);

// Starts, durations and, unless NULL, depths of a table of spans: its columns
// 0, 1 and 3, best in pre-order. Counts from what table_count_from() was told.
void table_put_nested(struct table_writer *writer, const uint64_t *starts,
                      const uint64_t *durations, const uint64_t *depths);

void table_put_constant(struct table_writer *writer, uint16_t column, uint64_t value);
void table_put_real(struct table_writer *writer, uint16_t column, const double *values);
void table_put_bytes(struct table_writer *writer, uint16_t column, const struct slice *values);

// Appends the frame; `ret_header` (may be NULL) says what was written. The
// sequence number moves on only when that succeeds.
GAIT_CHECK int table_end(struct table_writer *writer, const struct table_about *about,
                         struct frame_header *ret_header);

// The schema frame that opens every shard: all tables of this version.
GAIT_CHECK int table_write_schema(struct table_writer *writer);

// The same of a shard that is made from a foreign trace, whose events have more columns.
GAIT_CHECK int table_write_schema_foreign(struct table_writer *writer);

// The same of a file of facts.
GAIT_CHECK int table_write_schema_facts(struct table_writer *writer);

#endif
