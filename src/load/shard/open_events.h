// SPDX-License-Identifier: Apache-2.0
// The spans and steps that were still open when a shard's record ends, as
// events.
#ifndef GAIT_LOAD_OPEN_EVENTS_H
#define GAIT_LOAD_OPEN_EVENTS_H

#include <stdbool.h>

#include "load/shard/dictionary.h"
#include "load/shard/last_state.h"

struct open_event {
    int64_t start_ns;
    uint64_t tick, number; // number: of a step
    uint32_t track, site, depth;
    bool is_step;
    size_t behind;     // frame behind the row it comes from
    struct slice args; // in the arena
};

struct open_events {
    struct open_event *events; // in order of track, then start
    size_t count;
};

// The open rows of `state`, less those that frames behind them show to have
// ended.
GAIT_CHECK int open_events_load(struct open_events *open, const struct last_state *state,
                                struct dictionary *dictionary, const struct last_source *source);
void open_events_finish(struct open_events *open); // takes NULL and a zeroed struct

// Those from `first` on that share track and kind stand together: the place behind them.
size_t open_events_group(const struct open_events *open, size_t first);

#endif
