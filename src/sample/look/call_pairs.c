// SPDX-License-Identifier: Apache-2.0
// Small sets of neighbours in one array: the rarest of a set makes room.
#include "sample/look/call_pairs.h"

#include <stddef.h>

#include "base/invariant.h"

#define SET 4u
#define LEAST 1u         // times before anything is believed
#define LEAST_OF_ALL 13u // of all rounds, one in two to the power of that
#define LEAST_SHARE 12u  // of the caller's or the callee's, one in so many
#define MOST (1u << 30)

static size_t set_of(uint32_t caller, uint32_t callee)
{
    const uint64_t key = (uint64_t)caller << 32 | callee;
    return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) % (CALL_PAIRS_ROOM / SET) * SET;
}

static uint32_t count_of(const struct call_pairs *census, uint32_t caller, uint32_t callee)
{
    const struct call_count *set = &census->counts[set_of(caller, callee)];
    for (size_t i = 0; i < SET; i++)
        if (set[i].caller == caller && set[i].callee == callee)
            return set[i].count;
    return 0;
}

static void add(struct call_pairs *census, uint32_t caller, uint32_t callee)
{
    struct call_count *set = &census->counts[set_of(caller, callee)], *rarest = set;
    for (size_t i = 0; i < SET; i++) {
        if (set[i].count && set[i].caller == caller && set[i].callee == callee) {
            set[i].count += set[i].count < MOST;
            return;
        }
        GAIT_ASSERT(set[i].count <= MOST);
        if (set[i].count < rarest->count)
            rarest = &set[i];
    }
    *rarest = (struct call_count){caller, callee, 1};
}

void call_pairs_note(struct call_pairs *census, uint32_t caller, uint32_t callee)
{
    add(census, caller, callee);
    add(census, caller, 0);
    add(census, callee, 0);
}

bool call_pairs_believes(const struct call_pairs *census, uint32_t caller, uint32_t callee)
{
    const uint64_t count = count_of(census, caller, callee);
    const uint64_t of_caller = count_of(census, caller, 0), of_callee = count_of(census, callee, 0);
    const uint64_t least = of_caller < of_callee ? of_caller : of_callee;
    return count >= LEAST + (census->rounds >> LEAST_OF_ALL) && count <= least &&
           count * LEAST_SHARE >= least;
}
