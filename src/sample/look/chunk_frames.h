// SPDX-License-Identifier: Apache-2.0
// Frames of a chunk by where they lie, as one copy of the memory next to the leaf
// has them.
#ifndef GAIT_SAMPLE_CHUNK_FRAMES_H
#define GAIT_SAMPLE_CHUNK_FRAMES_H

#include "sample/cpython/code_cache.h"
#include "sample/look/snapshot_read.h"

struct chunk_frames {
    const struct snapshot_read *gather;
    const struct code_cache *codes;
    const struct chunk *chunk;
};

// The frame that runs: `current`, or one that called it or that it called since. What
// comes nearest to that where none does: one is just being made, or cleared away.
uint64_t chunk_frames_running(const struct chunk_frames *frames, uint64_t current);

// Whether one ends where the other begins, as a caller and its callee do.
bool chunk_frames_adjoin(const struct chunk_frames *frames, uint64_t low, uint64_t high);

// Of one that lies there: it is neither running, nor just being made, nor on its way out.
bool chunk_frames_can_wait(const struct chunk_frames *frames, uint64_t frame);

// The frame that lies right below one, whatever that one says of its caller; 0: none
// is found there.
uint64_t chunk_frames_below(const struct chunk_frames *frames, uint64_t frame);

#endif
