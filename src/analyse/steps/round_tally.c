// SPDX-License-Identifier: Apache-2.0
#include "analyse/steps/round_tally.h"

#include "analyse/steps/hook_facts.h"

static unsigned place_of(struct round_tally *tally, uint32_t id)
{
    unsigned at = 0;
    while (at < tally->used && tally->ids[at] != id)
        at++;
    if (at == TALLY_MOST_OPTIMIZERS)
        return at - 1;
    if (at == tally->used) {
        tally->ids[at] = id;
        tally->counts[at] = 0;
        tally->nexts[at] = TORCH_NO_STEP;
        tally->used++;
    }
    return at;
}

void round_tally_add(struct round_tally *tally, uint32_t id, uint32_t next)
{
    unsigned at = place_of(tally, id);
    tally->counts[at]++;
    tally->nexts[at] = next;
}

uint32_t round_tally_count(const struct round_tally *tally, uint32_t id)
{
    for (unsigned i = 0; i < tally->used; i++)
        if (tally->ids[i] == id)
            return tally->counts[i];
    return 0;
}

void round_tally_raise(struct round_tally *tally, const struct round_tally *other)
{
    for (unsigned i = 0; i < other->used; i++) {
        unsigned at = place_of(tally, other->ids[i]);
        if (other->counts[i] > tally->counts[at])
            tally->counts[at] = other->counts[i];
    }
}

uint32_t round_tally_next(const struct round_tally *tally)
{
    uint32_t next = TORCH_NO_STEP;
    for (unsigned i = 0; i < tally->used; i++)
        next = tally->nexts[i] < next ? tally->nexts[i] : next;
    return next;
}

bool round_tally_shares(const struct round_tally *tally, const struct round_tally *other)
{
    for (unsigned i = 0; i < tally->used; i++)
        if (round_tally_count(other, tally->ids[i]))
            return true;
    return false;
}
