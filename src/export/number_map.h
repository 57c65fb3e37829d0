// SPDX-License-Identifier: Apache-2.0
// A hash map from 64-bit numbers to 64-bit numbers, born with a maximum.
#ifndef GAIT_EXPORT_NUMBER_MAP_H
#define GAIT_EXPORT_NUMBER_MAP_H

#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

struct number_map {
    uint64_t *keys, *values; // a slot with value 0 is free
    size_t count, capacity;  // capacity: 0 or a power of two
    size_t limit;
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
