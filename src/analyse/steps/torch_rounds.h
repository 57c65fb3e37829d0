// SPDX-License-Identifier: Apache-2.0
// What makes a step of the work around it. An optimizer's step does. A training
// without optimizers (its own SGD) has a round a backward, and a program that
// only runs its model (inference) has a round a forward.
#ifndef GAIT_ANALYSE_TORCH_ROUNDS_H
#define GAIT_ANALYSE_TORCH_ROUNDS_H

struct hook_facts;
struct intervals;

enum torch_rounds {
    TORCH_ROUNDS_NONE, // nothing that repeats is known
    TORCH_ROUNDS_OPTIMIZER,
    TORCH_ROUNDS_BACKWARD, // outside of evaluation
    TORCH_ROUNDS_FORWARD,  // of the root module that runs most often
};

// Sets is_round of the facts and says what the rounds are. Without `evaluation`, which is
// found only when it is known what it cannot be, it marks those that are no evaluation's
// for sure: the optimizers', else each backward behind a forward in training mode.
enum torch_rounds torch_rounds_mark(struct hook_facts *facts, const struct intervals *evaluation);

#endif
