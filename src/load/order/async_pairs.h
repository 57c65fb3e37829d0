// SPDX-License-Identifier: Apache-2.0
// Where asynchronous spans end: an end closes the latest begin of the same site
// and id in its shard, on whichever track. Ends are looked up ahead of the
// reader, a window of begins at a time, so memory is bounded.
#ifndef GAIT_LOAD_ASYNC_PAIRS_H
#define GAIT_LOAD_ASYNC_PAIRS_H

#include "base/index/hash_index.h"
#include "load/order/merge.h"

struct async_begin;
struct async_key;

struct async_pairs {
    struct merge ahead; // all async rows; stands behind the window
    bool is_open;       // `ahead` is
    bool has_ended;     // nothing is left behind the window
    struct async_begin *window;
    size_t begin_count, begin_capacity, begin_limit;
    size_t next; // of the window, to be asked for
    struct async_key *keys;
    size_t key_count, key_room;
    struct hash_index key_index;
    size_t pending; // begins of the window without their end so far
};

// Begins before the first row of the run, or of its shards that have a 1 (NULL: all).
GAIT_CHECK int async_pairs_open(struct async_pairs *pairs, struct run *run, const uint8_t *shards);
void async_pairs_close(struct async_pairs *pairs); // takes NULL and a zeroed struct

// The end of the next begin in the order of a merge of all async rows, which
// starts at `start_ns`; *ret_end_ns is INT64_MIN when it never ends.
GAIT_CHECK int async_pairs_next(struct async_pairs *pairs, int64_t start_ns, int64_t *ret_end_ns);

// How long it took; -1 when it never ends.
static inline int64_t async_pairs_duration(int64_t start_ns, int64_t end_ns)
{
    if (end_ns < start_ns)
        return -1;
    return (int64_t)(((uint64_t)end_ns - (uint64_t)start_ns) & INT64_MAX);
}

#endif
