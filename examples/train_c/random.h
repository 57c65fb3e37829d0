// SPDX-License-Identifier: Apache-2.0
// SplitMix64: the same seed gives the same training.
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// In [-1, 1).
static inline float random_signed(struct random *random)
{
    return (float)(random_next(random) >> 40) * 0x1p-23f - 1.0f;
}

#endif
