// SPDX-License-Identifier: Apache-2.0
// The loops over loaders: which request belongs to which iterator's life, and
// which of them feed the training. Addresses are used again, so an iterator's
// life begins with its making.
#ifndef GAIT_ANALYSE_TORCH_LOOPS_H
#define GAIT_ANALYSE_TORCH_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

struct hook_facts;
struct intervals;

struct torch_loop {
    size_t first, last; // facts: its first and its last request, exhausted ones included
    uint32_t asks;      // that gave a batch
    bool is_exhausted;
    bool has_steps; // there was a round on some of its batches
    bool trains;    // the same, or there was a backward outside of evaluation
};

struct torch_loops {
    struct torch_loop *loops;
    size_t count, capacity;
};

#define TORCH_NO_LOOP UINT32_MAX

void torch_loops_init(struct torch_loops *loops);
void torch_loops_finish(struct torch_loops *loops); // takes NULL and a zeroed struct

// Finds the loops. Changes the facts: the id of MAKE, ASK and EMPTY becomes the
// number of the loop; facts inside of an input span become plain phases; a
// backward before a zero_grad without a step between is marked as discarded.
GAIT_CHECK int torch_loops_find(struct torch_loops *loops, struct hook_facts *facts);

// Says which loops train; the rounds are marked. Without `evaluation`, only by rounds.
void torch_loops_judge(struct torch_loops *loops, const struct hook_facts *facts,
                       const struct intervals *evaluation);

#endif
