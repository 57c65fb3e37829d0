// SPDX-License-Identifier: Apache-2.0
// Looks at the ranks of a job for a while and judges which of them do not move.
#ifndef GAIT_LAUNCH_STUCK_LOOK_H
#define GAIT_LAUNCH_STUCK_LOOK_H

#include <stdatomic.h>

#include "launch/stuck/members.h"

// What stands still for less than so many times the look's length is looked at for longer.
#define STUCK_LOOKS 5

struct stuck_look {
    struct members members; // added by the caller
    struct arena arena;
    struct stuck stuck;         // the answer
    const atomic_bool *is_over; // may be NULL: once set, stuck_look_take() fails at once
};

void stuck_look_init(struct stuck_look *look);
void stuck_look_finish(struct stuck_look *look);

// Looks twice, `for_ns` apart, and up to STUCK_LOOKS times as long where some stand still.
// Fails where none of the members can be looked at.
GAIT_CHECK int stuck_look_take(struct stuck_look *look, int64_t for_ns);

#endif
