// SPDX-License-Identifier: Apache-2.0
// The verdict where the work of devices is on record: each moment of a step is the devices'
// first, and while they have nothing to do, the host's.
#ifndef GAIT_ANALYSE_DEVICE_VERDICT_H
#define GAIT_ANALYSE_DEVICE_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/verdict/sentences.h"

// Of all ranks with devices, over their recorded steps; without steps over the time from the
// first device event to the last.
struct device_judged {
    uint64_t total_ns; // 0: nothing of devices is on record
    uint64_t steps;
    uint64_t by_work[WORK_KINDS]; // they sum to total_ns
    uint64_t unlaunched_ns;       // of WORK_HOST: no launch of the work behind it is on record
};

// What leads.
enum work_kind device_verdict_lead(const struct device_judged *devices);

struct verdict_facts;
struct verdict;

// False: it says nothing, and the phases of the host decide.
bool device_verdict_make(const struct verdict_facts *facts, struct verdict *verdict);

#endif
