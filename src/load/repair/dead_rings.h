// SPDX-License-Identifier: Apache-2.0
// Ring files that dead processes left in shared memory. As long as the shard
// is there, some reader completes it and the ring file goes; where somebody
// deleted the run directory first, nobody ever comes.
#ifndef GAIT_LOAD_DEAD_RINGS_H
#define GAIT_LOAD_DEAD_RINGS_H

#include <stdint.h>

#include <gait/error.h>

struct dead_rings {
    uint64_t count, bytes; // left by processes that are gone
    uint64_t live_count;   // of processes that record now
    uint64_t riddle_count; // of another container: nobody here can tell
    // what became of the dead, if they were to go
    uint64_t completed_count, removed_count;
};

// Looks at the ring files of this user in `directory`, no others.
GAIT_CHECK int dead_rings_find(const char *directory, struct dead_rings *ret_rings);

// The same, and then shards that are still there are completed, which takes
// their ring file away; ring files without a shard are removed.
GAIT_CHECK int dead_rings_clean(const char *directory, struct dead_rings *ret_rings);

#endif
