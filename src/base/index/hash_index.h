// SPDX-License-Identifier: Apache-2.0
// Finds rows of an array by what is in them: open addressing over hashes, at most half
// full. What is equal, the caller says; the rows themselves stay his:
//
//     size_t at = hash_index_first(&index, hash);
//     for (; index.places[at].row; at = hash_index_next(&index, at))
//         if (is_same(&rows[index.places[at].row - 1], wanted))
//             …; // found
//     hash_index_put(&index, at, hash, row); // there is none: it becomes this one
//
// There is room for one more from hash_index_reserve() to hash_index_put().
#ifndef GAIT_BASE_HASH_INDEX_H
#define GAIT_BASE_HASH_INDEX_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <gait/error.h>

#include "base/slice.h"

struct hash_place {
    uint32_t row; // + 1; 0: free
    uint32_t hash;
};

struct hash_index { // zeroed: empty
    struct hash_place *places;
    size_t room, count; // room: 0 or a power of two
};

void hash_index_finish(struct hash_index *index); // takes a zeroed struct
void hash_index_clear(struct hash_index *index);  // forgets all, and keeps its room

// Makes room for one more, `first_room` at first. On failure it is as it was.
GAIT_CHECK int hash_index_reserve(struct hash_index *index, size_t first_room);

// From `at` on, the first place that is of that hash; or the free one where it belongs.
static inline size_t hash_index_from(const struct hash_index *index, size_t at, uint32_t hash)
{
    const size_t mask = index->room - 1;
    for (at &= mask; index->places[at].row && index->places[at].hash != hash;)
        at = (at + 1) & mask;
    return at;
}

static inline size_t hash_index_first(const struct hash_index *index, uint32_t hash)
{
    return hash_index_from(index, hash, hash);
}

// The next one behind a place that was not free.
static inline size_t hash_index_next(const struct hash_index *index, size_t at)
{
    return hash_index_from(index, at + 1, index->places[at].hash);
}

// At a free place.
static inline void hash_index_put(struct hash_index *index, size_t at, uint32_t hash, uint32_t row)
{
    index->places[at] = (struct hash_place){row + 1, hash};
    index->count++;
}

// --- hashes of what rows are made of; what stands in a file never depends on them -------

// Takes in one more word. Every bit of the result depends on every word so far.
static inline uint64_t hash_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 32) * UINT64_C(0xff51afd7ed558ccd);
    return hash ^ hash >> 32;
}

// Eight bytes a step, for texts may be 100,000 bytes long.
static inline uint64_t hash_bytes(struct slice text)
{
    uint64_t hash = text.count;
    for (size_t at = 0; at < text.count; at += 8) {
        const size_t left = text.count - at;
        uint64_t word = 0;
        if (left >= 8)
            memcpy(&word, text.bytes + at, 8);
        else
            memcpy(&word, text.bytes + at, left);
        hash = hash_mix(hash, word);
    }
    return hash;
}

#endif
