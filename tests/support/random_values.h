// SPDX-License-Identifier: Apache-2.0
// Repeatable random numbers for tests: the same seed gives the same case on
// every machine, so that a failure can be run again.
#ifndef GAIT_RANDOM_VALUES_H
#define GAIT_RANDOM_VALUES_H

#include <stddef.h>
#include <stdint.h>

struct random_values {
    uint64_t state; // not 0
};

static inline uint64_t random_next(struct random_values *random)
{
    random->state ^= random->state << 13;
    random->state ^= random->state >> 7;
    random->state ^= random->state << 17;
    return random->state * 0x2545f4914f6cdd1d;
}

static inline uint64_t random_below(struct random_values *random, uint64_t end)
{
    return random_next(random) % end;
}

// A number of any length in bits, each length as likely as the others: what
// uniform 64-bit numbers never are.
static inline uint64_t random_magnitude(struct random_values *random)
{
    const uint64_t bits = random_below(random, 65);

    return bits ? random_next(random) >> (64 - bits) : 0;
}

#endif
