// SPDX-License-Identifier: Apache-2.0
// Memory that is taken piece by piece and given back all at once.
#ifndef GAIT_BASE_ARENA_H
#define GAIT_BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *blocks; // newest first
    size_t used, limit;         // bytes of all blocks together
};

void arena_init(struct arena *arena, size_t limit_bytes);
void arena_finish(struct arena *arena); // takes NULL and a zeroed struct

// `bytes` of memory, aligned to 16, contents not set; NULL (with a story) when
// there is no memory or the limit is reached.
void *arena_take(struct arena *arena, size_t bytes);

// A copy of `count` bytes with a 0 behind it.
char *arena_text(struct arena *arena, const void *bytes, size_t count);

#endif
