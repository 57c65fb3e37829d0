// SPDX-License-Identifier: Apache-2.0
// The spans and steps that were still open when a shard's record ends.
#ifndef GAIT_LOAD_OPEN_EVENTS_H
#define GAIT_LOAD_OPEN_EVENTS_H

#include <stdbool.h>

#include "base/arena.h"
#include "load/dictionary.h"

struct open_event {
    int64_t start_ns;
    uint64_t tick, number; // number: of a step
    uint32_t track, site, depth;
    bool is_step;
    struct slice args; // in the arena
};

struct open_events {
    struct open_event *events; // in order of track, then start
    size_t count, capacity;
    struct id_map closed_by; // track id -> frame behind its newest open rows + 1
};

// Finds them: of every track the open rows of the last commit that names it,
// less those that frames written after it show to have ended.
GAIT_CHECK int open_events_load(struct open_events *open, struct shard *shard,
                                struct dictionary *dictionary, struct row_reader *rows,
                                struct arena *arena);
void open_events_finish(struct open_events *open); // takes NULL and a zeroed struct

#endif
