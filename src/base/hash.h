// SPDX-License-Identifier: Apache-2.0
// Hashes for tables in memory; what stands in a file never depends on them.
#ifndef GAIT_BASE_HASH_H
#define GAIT_BASE_HASH_H

#include <stdint.h>
#include <string.h>

#include "base/slice.h"

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
