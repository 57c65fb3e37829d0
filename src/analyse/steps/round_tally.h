// SPDX-License-Identifier: Apache-2.0
// How often each optimizer stepped in some stretch of a training, and where each
// steps next. Few optimizers, so they are looked for in a row.
#ifndef GAIT_ANALYSE_ROUND_TALLY_H
#define GAIT_ANALYSE_ROUND_TALLY_H

#include <stdbool.h>
#include <stdint.h>

enum { TALLY_MOST_OPTIMIZERS = 32 }; // told apart; those past the last share its place

struct round_tally {
    uint32_t ids[TALLY_MOST_OPTIMIZERS], counts[TALLY_MOST_OPTIMIZERS];
    uint32_t nexts[TALLY_MOST_OPTIMIZERS]; // the fact in which it steps again
    unsigned used;
};

// One step more of an optimizer, which steps again in the fact `next`.
void round_tally_add(struct round_tally *tally, uint32_t id, uint32_t next);

uint32_t round_tally_count(const struct round_tally *tally, uint32_t id);

// Raises each count to that in `other`, where that is larger.
void round_tally_raise(struct round_tally *tally, const struct round_tally *other);

// The first fact in which any of them steps again.
uint32_t round_tally_next(const struct round_tally *tally);

// Whether any of them has steps in `other` too.
bool round_tally_shares(const struct round_tally *tally, const struct round_tally *other);

#endif
