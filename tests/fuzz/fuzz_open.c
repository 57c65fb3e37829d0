// SPDX-License-Identifier: Apache-2.0
// Opens any bytes as a shard and asks everything there is to ask. No fuzzer
// guesses a hash: those of the input are made good, unless they are zero, which
// is the wish for a damaged one.
#include <stdlib.h>
#include <string.h>

#include "ask_everything.h"
#include "base/bytes.h"
#include "load/run.h"

// A few bytes may stand for a million equal rows. That is slow, but no fault,
// and would keep the search from going on.
#define MOST_ROWS 256 // of a frame
#define MOST_ROWS_IN_ALL 1024

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void open_bytes(struct slice bytes)
{
    struct gait_trace trace;

    if (run_open_memory(&trace.run, bytes))
        return;
    ask_for_all(&trace);
    ask_about(&trace);
    run_close(&trace.run);
}

// Returns the rows that the frame says it has.
static uint32_t repair_frame(uint8_t *header, size_t left)
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

static void repair_trailer(uint8_t *trailer)
{
    static const uint8_t magic[8] = {'G', 'A', 'I', 'T', 'E', 'N', 'D', '\n'};

    if (memcmp(trailer, magic, sizeof(magic)) == 0 && bytes_get32(trailer + 28))
        bytes_put32(trailer + 28, (uint32_t)frame_hash(trailer, 28));
}

// Makes the hashes right, so that the bytes behind them are believed: from the
// end, as a payload may hold what looks like a frame. Returns how many rows all
// that promises.
static uint64_t repair(uint8_t *bytes, size_t size)
{
    static const uint8_t magic[8] = {0x89, 'G', 'A', 'I', 'T', '\r', '\n', 0x1a};
    uint64_t rows = 0;

    if (size >= FRAME_TRAILER_BYTES)
        repair_trailer(bytes + size - FRAME_TRAILER_BYTES);
    if (size < FRAME_HEADER_BYTES)
        return 0;
    for (size_t at = (size - FRAME_HEADER_BYTES) / 8 * 8 + 8; at > 0; at -= 8)
        if (memcmp(bytes + at - 8, magic, sizeof(magic)) == 0)
            rows += repair_frame(bytes + at - 8, size - (at - 8) - FRAME_HEADER_BYTES);
    return rows;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes;

    if (!size)
        return 0;
    bytes = malloc(size); // to the byte: a sanitizer sees a step past the end
    if (!bytes)
        return 0;
    memcpy(bytes, data, size);
    if (repair(bytes, size) <= MOST_ROWS_IN_ALL)
        open_bytes((struct slice){bytes, size});
    free(bytes);
    return 0;
}
