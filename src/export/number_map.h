// SPDX-License-Identifier: Apache-2.0
// A hash map from 64-bit numbers to 64-bit numbers, born with a maximum.
#ifndef GAIT_EXPORT_NUMBER_MAP_H
#define GAIT_EXPORT_NUMBER_MAP_H

#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#include "base/index/hash_index.h"

struct number_pair {
    uint64_t key, value;
};

struct number_map {
    struct hash_index index;
    struct number_pair *pairs;
    size_t count, room, limit;
};

void number_map_init(struct number_map *map, size_t max_count);
void number_map_finish(struct number_map *map); // takes a zeroed struct

// The value of a key, 0 if it has none.
uint64_t number_map_get(const struct number_map *map, uint64_t key);

// Sets a value, which must not be 0.
GAIT_CHECK int number_map_put(struct number_map *map, uint64_t key, uint64_t value);

// Spreads a number over 64 bits; different numbers stay different.
static inline uint64_t number_map_mix(uint64_t number)
{
    number ^= number >> 30;
    number *= 0xBF58476D1CE4E5B9u;
    number ^= number >> 27;
    number *= 0x94D049BB133111EBu;
    return number ^ number >> 31;
}

#endif
