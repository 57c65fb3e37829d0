// SPDX-License-Identifier: Apache-2.0
// No fuzzer guesses a hash: those of an input are made good, unless they are zero, which is the
// wish for a damaged one.
#ifndef GAIT_REPAIR_HASHES_H
#define GAIT_REPAIR_HASHES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "format/frame.h"

// A few bytes may stand for a million equal rows. That is slow, but no fault,
// and would keep the search from going on.
#define MOST_ROWS 256 // of a frame
#define MOST_ROWS_IN_ALL 1024

// Returns the rows that the frame says it has.
static inline uint32_t repair_frame(uint8_t *header, size_t left)
{
    const uint32_t stored = bytes_get32(header + 16);
    const uint32_t rows = bytes_get32(header + 12);

    if (rows > MOST_ROWS && rows <= FRAME_MAX_ROWS)
        bytes_put32(header + 12, rows % (MOST_ROWS + 1));
    if (bytes_get64(header + 48) && stored <= left)
        bytes_put64(header + 48, frame_hash(header + FRAME_HEADER_BYTES, stored));
    if (bytes_get32(header + 60))
        bytes_put32(header + 60, (uint32_t)frame_hash(header, 60));
    return bytes_get32(header + 12);
}

static inline void repair_trailer(uint8_t *trailer)
{
    static const uint8_t magic[8] = {'G', 'A', 'I', 'T', 'E', 'N', 'D', '\n'};

    if (memcmp(trailer, magic, sizeof(magic)) == 0 && bytes_get32(trailer + 28))
        bytes_put32(trailer + 28, (uint32_t)frame_hash(trailer, 28));
}

// Makes the hashes right, so that the bytes behind them are believed: from the
// end, as a payload may hold what looks like a frame. False: that promises too many rows.
static inline bool repair_hashes(uint8_t *bytes, size_t size)
{
    static const uint8_t magic[8] = {0x89, 'G', 'A', 'I', 'T', '\r', '\n', 0x1a};
    uint64_t rows = 0;

    if (size >= FRAME_TRAILER_BYTES)
        repair_trailer(bytes + size - FRAME_TRAILER_BYTES);
    if (size < FRAME_HEADER_BYTES)
        return true;
    for (size_t at = (size - FRAME_HEADER_BYTES) / 8 * 8 + 8; at > 0; at -= 8)
        if (memcmp(bytes + at - 8, magic, sizeof(magic)) == 0)
            rows += repair_frame(bytes + at - 8, size - (at - 8) - FRAME_HEADER_BYTES);
    return rows <= MOST_ROWS_IN_ALL;
}

#endif
