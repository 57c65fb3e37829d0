// SPDX-License-Identifier: Apache-2.0
// Why the devices of a rank did nothing: each time without work is told by the launch of
// the work that ended it.
#ifndef GAIT_ANALYSE_IDLE_CAUSES_H
#define GAIT_ANALYSE_IDLE_CAUSES_H

#include "analyse/device/breakdown.h"
#include "analyse/time/intervals.h"

struct idle_causes {
    struct intervals times[IDLE_CAUSES]; // joined; all together what `busy` leaves of all time
};

// `busy` is joined. Before the first and behind the last work it is idle without an end.
GAIT_CHECK int idle_causes_find(struct idle_causes *causes, const struct device_rows *rows,
                                const struct intervals *busy);
void idle_causes_finish(struct idle_causes *causes); // takes a zeroed struct

// Adds to ret_ns[cause] what of the window is idle for that cause.
void idle_causes_within(const struct idle_causes *causes, struct interval window, uint64_t *ret_ns);

#endif
