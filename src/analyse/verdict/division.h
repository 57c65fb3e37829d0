// SPDX-License-Identifier: Apache-2.0
// The time that is judged, by kind of work: of the devices of a rank where they are on record,
// else of the phases of its host.
#ifndef GAIT_ANALYSE_DIVISION_H
#define GAIT_ANALYSE_DIVISION_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/verdict/sentences.h"

struct verdict_facts;
struct judged_part;

struct division {
    enum verdict_base base;
    bool is_device;
    uint64_t total_ns, steps;
    uint64_t by_work[WORK_KINDS]; // they sum to total_ns
    uint64_t rest_ns;             // of the host: what lies in no phase, whatever kind that is
    bool has_small_ops;           // computing is calls of ops that do less than they cost
};

struct division division_of(const struct verdict_facts *facts);

// The largest phase of the host of that kind; of any kind where it is WORK_KINDS. NULL: none is.
const struct judged_part *division_largest(const struct verdict_facts *facts, enum work_kind work);

// What leads: the largest part that can be taken away where it is a quarter; else computing
// where it is half; else several parts that are more than computing (`ret_is_several`); else the
// largest.
enum work_kind division_lead(const struct division *division, bool *ret_is_several);

// Whether faster steps come of doing less of it.
bool division_is_removable(enum work_kind work);

#endif
