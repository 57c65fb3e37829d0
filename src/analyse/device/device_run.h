// SPDX-License-Identifier: Apache-2.0
// The breakdown of every rank of a run.
#ifndef GAIT_ANALYSE_DEVICE_RUN_H
#define GAIT_ANALYSE_DEVICE_RUN_H

#include "analyse/device/breakdown.h"
#include "analyse/device/recorded_steps.h"

struct device_run {
    struct breakdown_rank
        *ranks; // of shards with device events or steps, and all that were imported
    size_t count, capacity;
    struct recorded_steps recorded; // which their names belong to
};

GAIT_CHECK int device_run_make(struct device_run *run, struct gait_trace *trace);
void device_run_finish(struct device_run *run); // takes NULL and a zeroed struct

#endif
