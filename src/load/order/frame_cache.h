// SPDX-License-Identifier: Apache-2.0
// Decoded frames of many streams, within a bound. While there is room a stream
// has its whole frame; when there are too many, each gets a window of rows and
// its frame is decoded again for the next one.
//
// What that costs at most: frames that are in use at once and together decode to
// D bytes are decoded D / (bytes_limit / 2) times each, rounded up, or once for
// every 16 rows if that is less. So a file takes time for its rows, times what
// of it overlaps in units of 64 MiB. Recorders stay near 1; a file made to hurt
// can have thousands of frames of the same moment, each of 16,384 rows in a hundred
// bytes (docs/LIMITS.md). Nothing tells such rows from honest ones, which compress
// as well: who reads files of strangers sets a time limit of their own.
#ifndef GAIT_LOAD_FRAME_CACHE_H
#define GAIT_LOAD_FRAME_CACHE_H

#include "load/order/event_frame.h"

struct frame_slot {
    struct event_frame frame;
    uint32_t owner; // number of a stream + 1; 0: free
    uint32_t next_free;
    size_t bytes; // memory it holds on to, also while it is free
};

struct frame_cache {
    struct event_decoder decoder;
    struct event_frame scratch;
    struct frame_slot *slots;
    size_t slot_count, slot_capacity;
    uint32_t first_free; // number + 1; 0: none
    size_t owned;        // slots that are not free
    size_t bytes;        // memory of all slots
    size_t bytes_limit;
};

// What a stream asks for: the frame of `ask`, row `row` at least.
struct frame_wish {
    uint32_t owner; // number of the stream
    uint32_t slot;  // where it was last time; set by frame_cache_get()
    size_t row;
    struct event_ask ask;
};

// With `bytes_limit` 0 the usual bound holds.
GAIT_CHECK int frame_cache_init(struct frame_cache *cache, size_t bytes_limit);
void frame_cache_finish(struct frame_cache *cache); // takes NULL and a zeroed struct

// Rows around the one wished for; good until the next call.
GAIT_CHECK int frame_cache_get(struct frame_cache *cache, struct frame_wish *wish,
                               struct event_frame **ret_frame);

// The stream needs its frame no longer.
void frame_cache_release(struct frame_cache *cache, uint32_t owner, uint32_t slot);

#endif
