// SPDX-License-Identifier: Apache-2.0
// How often which function was seen to wait for which, and in how many rounds. Two frames that were
// copied one after the other may be of two moments: such a call is seen once in a thousand times,
// one that the program makes far more often.
#ifndef GAIT_SAMPLE_CALL_PAIRS_H
#define GAIT_SAMPLE_CALL_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

enum { CALL_PAIRS_ROOM = 8192 };

// All zero: nothing was seen. What is seen often stays, what is not may be forgotten.
struct call_pairs {
    struct call_count {
        uint32_t caller, callee, count; // numbers of functions, from 1; callee 0: any
    } counts[CALL_PAIRS_ROOM];
    uint64_t rounds;
};

// What is noted behind this is of another round.
static inline void call_pairs_round(struct call_pairs *census)
{
    census->rounds++;
}

void call_pairs_note(struct call_pairs *census, uint32_t caller, uint32_t callee);

// Whether the program makes that call, as far as can be told.
bool call_pairs_believes(const struct call_pairs *census, uint32_t caller, uint32_t callee);

#endif
