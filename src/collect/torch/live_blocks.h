// SPDX-License-Identifier: Apache-2.0
// How large the blocks are that were allocated while somebody looked: a release
// tells only the address. Any thread, no locks, a fixed size; a block that finds
// no room is not known later.
#ifndef GAIT_COLLECT_LIVE_BLOCKS_H
#define GAIT_COLLECT_LIVE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/error.h>

// Begins anew, without any block. Not while another thread calls this too.
GAIT_CHECK int live_blocks_open(void);

// `is_owner`: said by one thread of a window at most; its puts take no lock of
// the memory bus, which would wait for all that was stored before.
void live_blocks_put(const void *block, uint64_t bytes, bool is_owner);

// The size of a block, which is then forgotten; 0 when it is not known.
uint64_t live_blocks_take(const void *block);

// Blocks that found no room so far.
uint64_t live_blocks_lost(void);

#endif
