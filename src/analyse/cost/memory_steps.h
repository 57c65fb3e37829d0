// SPDX-License-Identifier: Apache-2.0
// In which steps memory grew and spiked.
#ifndef GAIT_ANALYSE_MEMORY_STEPS_H
#define GAIT_ANALYSE_MEMORY_STEPS_H

struct torch_ranks;
struct torch_report;

// Names the steps of torch->vitals.growth, and finds the spike. Ops have been walked.
void memory_steps_find(struct torch_report *torch, const struct torch_ranks *ranks);

#endif
