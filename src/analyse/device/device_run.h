// SPDX-License-Identifier: Apache-2.0
// The breakdown of every rank of a run.
#ifndef GAIT_ANALYSE_DEVICE_RUN_H
#define GAIT_ANALYSE_DEVICE_RUN_H

#include "analyse/device/breakdown.h"
#include "analyse/device/turns.h"
#include "analyse/steps/chosen.h"

struct device_run {
    struct breakdown_rank
        *ranks; // of shards with device events or steps, and all that were imported
    size_t count, capacity;
    struct turns turns; // read with them; names belong to the steps that it found
    const struct chosen *chosen;
    struct intervals *times; // of each shard: what of the chosen times `whole` is of
    uint32_t shard_count;
};

// `whole` of each rank is of the chosen times, and its steps are those that begin in them. NULL:
// of the time with devices on record, and all steps.
GAIT_CHECK int device_run_make(struct device_run *run, struct gait_trace *trace,
                               const struct chosen *chosen);
// What makes it of a run that is zeroed but for the choice, once the recorded steps of the turns
// stand, or where steps bear names.
enum { DEVICE_RUN_ASKS = 2 };
GAIT_CHECK int device_run_ask(struct device_run *run, struct gait_trace *trace,
                              struct fact_ask *ret_asks);

void device_run_finish(struct device_run *run); // takes NULL and a zeroed struct

#endif
