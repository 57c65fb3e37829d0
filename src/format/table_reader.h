// SPDX-License-Identifier: Apache-2.0
// Columns of one frame's payload. Nothing in it is trusted: every length is
// checked before it is used, whatever the hashes said.
#ifndef GAIT_FORMAT_TABLE_READER_H
#define GAIT_FORMAT_TABLE_READER_H

#include "base/buffer.h"
#include "base/slice.h"
#include "format/frame.h"
#include "format/schema.h"

struct table_column {
    const uint8_t *stored;
    uint32_t stored_bytes, raw_bytes;
    uint8_t transform, packing, compression;
    bool present;
};

// A frame ready to be asked; borrows the payload.
struct table_view {
    uint64_t serial; // no other view of the process has it
    struct frame_header header;
    struct table_column columns[SCHEMA_MAX_COLUMNS];
};

// Scratch space of one reading thread, reused from frame to frame.
struct table_reader {
    struct buffer raw; // a decompressed blob
    void *zstd;
    // Starts and durations that are stored as a nest are decoded together: the
    // one not asked for waits here, it is most often asked for next.
    struct buffer twin, depths;
    uint64_t twin_serial; // of its view, 0: none
    uint16_t twin_column;
};

GAIT_CHECK int table_reader_init(struct table_reader *reader);
void table_reader_finish(struct table_reader *reader); // takes NULL and a zeroed struct

// Checks header limits and the directory (not the hashes: see frame.h).
GAIT_CHECK int table_view_init(struct table_view *view, const struct frame_header *header,
                               const uint8_t *payload);

// All rows of a number column (zeros when absent); `ret_values` has
// header.rows places, whose contents are undefined after a failure. Fails on a
// bytes column and on any lie.
GAIT_CHECK int table_read(struct table_reader *reader, const struct table_view *view,
                          uint16_t column, uint64_t *ret_values);

// All rows of a bytes column (empty when absent). The bytes are copied to
// `text`, which the slices point into: it is emptied first.
GAIT_CHECK int table_read_bytes(struct table_reader *reader, const struct table_view *view,
                                uint16_t column, struct buffer *text, struct slice *ret_values);

#endif
