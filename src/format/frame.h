// SPDX-License-Identifier: Apache-2.0
// The 64-byte header in front of every table, and the trailer at the end of a
// closed shard (docs/FORMAT.md sections 1 and 8).
#ifndef GAIT_FORMAT_FRAME_H
#define GAIT_FORMAT_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#define FRAME_VERSION 1
#define FRAME_HEADER_BYTES 64
#define FRAME_TRAILER_BYTES 32
#define FRAME_DIRECTORY_BYTES(columns) (8 + 16 * (size_t)(columns)) // of the payload
#define FRAME_MAX_ROWS (1u << 20)
#define FRAME_MAX_PAYLOAD (16u << 20)
#define FRAME_MAX_RAW (64u << 20)
// Rows and bytes that a few stored ones may stand for. Above what any writer makes of real
// events, and below what a file of 9 KB needs to keep a reader busy for half a minute.
#define FRAME_MAX_ROWS_OF(stored) (16384 + 256 * (uint64_t)(stored))
#define FRAME_UNASKED_RAW (4u << 20)
#define FRAME_LARGEST_RATIO 1024u
#define FRAME_MAX_RAW_OF(stored) (FRAME_UNASKED_RAW + FRAME_LARGEST_RATIO * (uint64_t)(stored))
#define FRAME_INDEX_EVERY 4096 // frames between index frames

struct frame_header {
    uint16_t version, table;
    uint32_t rows, stored_bytes, track, events;
    uint64_t sequence, first, last, payload_hash;
};

struct frame_trailer {
    uint64_t index_offset, frame_count;
};

void frame_header_write(const struct frame_header *header, uint8_t out[FRAME_HEADER_BYTES]);

// Fails unless magic, version, header hash and all limits hold.
GAIT_CHECK int frame_header_read(const uint8_t in[FRAME_HEADER_BYTES],
                                 struct frame_header *ret_header);

bool frame_payload_is_intact(const struct frame_header *header, const uint8_t *payload);

void frame_trailer_write(const struct frame_trailer *trailer, uint8_t out[FRAME_TRAILER_BYTES]);
GAIT_CHECK int frame_trailer_read(const uint8_t in[FRAME_TRAILER_BYTES],
                                  struct frame_trailer *ret_trailer);

uint64_t frame_hash(const void *bytes, size_t count); // XXH3-64, seed 0

// Offset of the next place at or after `from` (rounded up to 8) where a header
// reads well; `bytes` if there is none.
size_t frame_find(const uint8_t *file, size_t bytes, size_t from);

#endif
