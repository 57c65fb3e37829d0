// SPDX-License-Identifier: Apache-2.0
// Decoded frames of many streams, within a bound: those that were not looked at
// for longest are given up and decoded again when they are asked for.
#ifndef GAIT_LOAD_FRAME_CACHE_H
#define GAIT_LOAD_FRAME_CACHE_H

#include "load/event_frame.h"

struct frame_slot {
    struct event_frame frame;
    uint32_t owner; // number of a stream + 1; 0: free
    uint32_t next_free;
    size_t bytes; // memory it holds on to, also while it is free
    uint64_t used_at;
};

struct frame_cache {
    struct event_decoder decoder;
    struct frame_slot *slots;
    size_t slot_count, slot_capacity;
    uint32_t first_free; // number + 1; 0: none
    size_t bytes;        // memory of all slots
    uint64_t turn;
};

GAIT_CHECK int frame_cache_init(struct frame_cache *cache);
void frame_cache_finish(struct frame_cache *cache); // takes NULL and a zeroed struct

// The frame of stream `owner`, from slot `*slot` if it is still there, else
// decoded anew; good until the next call.
GAIT_CHECK int frame_cache_get(struct frame_cache *cache, uint32_t owner, uint32_t *slot,
                               const struct event_ask *ask, struct event_frame **ret_frame);

// The stream needs its frame no longer.
void frame_cache_release(struct frame_cache *cache, uint32_t owner, uint32_t slot);

#endif
