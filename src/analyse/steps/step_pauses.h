// SPDX-License-Identifier: Apache-2.0
// While gait begins to record devices, or takes in what they did, the thread that trains
// waits. That happens where a step ends and belongs to none.
#ifndef GAIT_ANALYSE_STEP_PAUSES_H
#define GAIT_ANALYSE_STEP_PAUSES_H

struct torch_steps;
struct hook_facts;

// A step ends where a pause begins behind its last work, and begins where one before its first
// work ends. One in the midst of its work stays where it is.
void step_pauses_leave_out(struct torch_steps *steps, const struct hook_facts *facts);

#endif
