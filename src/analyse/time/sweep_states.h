// SPDX-License-Identifier: Apache-2.0
// Cuts a window of time into exclusive states: at each moment it is in the state whose
// bits are the lanes that run then. The states of a window add up to its length exactly.
#ifndef GAIT_ANALYSE_SWEEP_STATES_H
#define GAIT_ANALYSE_SWEEP_STATES_H

#include "analyse/time/intervals.h"

enum { SWEEP_LANES = 8 };

struct sweep_lanes {
    const struct intervals *lanes[SWEEP_LANES]; // joined
    unsigned count;
};

// Adds to out[mask] the time within the window that exactly the lanes of `mask` cover;
// `out` has 1 << count places. A window without length adds nothing.
void sweep_states(const struct sweep_lanes *lanes, struct interval window, uint64_t *out);

#endif
