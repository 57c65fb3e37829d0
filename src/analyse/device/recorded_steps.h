// SPDX-License-Identifier: Apache-2.0
// The steps of gait's own recordings that have work of devices on record: those that the
// report counts, and that lie in a window with devices.
#ifndef GAIT_ANALYSE_RECORDED_STEPS_H
#define GAIT_ANALYSE_RECORDED_STEPS_H

#include <gait/trace.h>

#include "base/arena.h"

struct device_step {
    int64_t start_ns, end_ns;
    const char *name;
};

struct recorded_step {
    uint32_t shard;
    struct device_step step; // its name is "step 5"
};

struct recorded_steps {
    struct recorded_step *rows;
    size_t count, capacity;
    struct arena names;
};

// None of a run without devices, which is not read for them.
GAIT_CHECK int recorded_steps_find(struct recorded_steps *steps, struct gait_trace *trace);
void recorded_steps_finish(struct recorded_steps *steps); // takes a zeroed struct

#endif
