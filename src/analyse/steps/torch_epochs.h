// SPDX-License-Identifier: Apache-2.0
// With which steps the epochs begin: where a framework or gait.epoch() said so,
// else where the training goes on with a new iterator and the old one is done.
#ifndef GAIT_ANALYSE_TORCH_EPOCHS_H
#define GAIT_ANALYSE_TORCH_EPOCHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

struct arena;
struct torch_epoch;
struct intervals;
struct torch_report;
struct training_thread;

enum { TORCH_MOST_EPOCHS = 4096 }; // told apart; later ones join the last

struct torch_epochs {
    uint64_t *first_steps; // by place among the steps
    uint64_t *wall_ns;     // see struct torch_epoch
    size_t count, capacity;
    bool has_loops; // some step was of a loop over a loader
};

void torch_epochs_finish(struct torch_epochs *epochs); // takes NULL and a zeroed struct

// From one thread whose steps are `windows`. A run that tells none has none.
GAIT_CHECK int torch_epochs_find(struct torch_epochs *epochs, const struct training_thread *thread,
                                 const struct intervals *windows);

// Makes the report's rows of them.
GAIT_CHECK int torch_epochs_open(const struct torch_epochs *epochs, struct arena *arena,
                                 struct torch_report *torch);

// The row to which the step at that place belongs, or NULL.
struct torch_epoch *torch_epochs_at(const struct torch_epochs *epochs, struct torch_report *torch,
                                    uint64_t place);

#endif
