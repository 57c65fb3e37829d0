// SPDX-License-Identifier: Apache-2.0
// The turns of a loop: from the begin of a step to the begin of the next, of the last one to
// its end or that of the work that was given to devices in it. They follow each other without a
// gap, so that what their ledger says is all of the loop's time (docs/DEVICES.md).
#ifndef GAIT_ANALYSE_TURNS_H
#define GAIT_ANALYSE_TURNS_H

#include <stdbool.h>

#include "analyse/device/activity_sums.h"
#include "analyse/device/device_fill.h"
#include "analyse/device/recorded_steps.h"
#include "analyse/steps/chosen.h"
#include "facts/facts.h"

// What each moment of a turn is: the lanes of devices, then what the host did while they were
// idle, then nothing that is on record.
enum { TURN_NOTHING = ACTIVITY_COUNT, TURN_PARTS };

struct turn_sums {
    uint64_t ns[TURN_PARTS];
};

struct turn {
    const char *name;
    uint64_t number;
    int64_t start_ns, host_end_ns, end_ns;
    int64_t host_reach_ns; // where this step and those before it have ended on the host
    uint64_t period_ns;    // from the end of the step before, as devices saw it; not of the first
    bool has_devices;      // they were on record for all of it
    bool is_first, is_chosen;
    struct turn_sums sums;
    int64_t device_end_ns; // of the work that was given until the step's end; INT64_MIN: none
};

struct turn_rank {
    uint32_t shard;
    bool has_device, is_imported;
    struct turn *turns; // in order of start; of kept ones
    size_t count;
    size_t steps; // whose turns these are, kept or not: how long they last, the steps themselves
    uint64_t total_ns, host_ns;
    size_t told; // turns with devices on record,
    uint64_t told_ns;
    struct turn_sums sums; // their length, and what it holds
    struct device_fill *devices;
    size_t device_count;
};

struct turns {
    struct turn_rank *ranks; // those with steps
    size_t count, capacity;
    struct recorded_steps recorded; // which names belong to
    const struct chosen *chosen;
    const struct intervals *times;    // of each shard: those chosen, where they cut steps; or NULL
    struct rank_activity *activities; // of ranks with work of devices
    size_t activity_count, activity_capacity;
    bool is_kept; // each turn, and how full devices were; else ranks have sums alone
};

// For those who have the recorded steps, and ask about other things in the same reading.
extern const struct fact_consumer turns_consumer;

// Of the turns that begin in the chosen times; NULL: of all. They are kept.
GAIT_CHECK int turns_make(struct turns *turns, struct gait_trace *trace,
                          const struct chosen *chosen);
void turns_finish(struct turns *turns); // takes a zeroed struct

#endif
