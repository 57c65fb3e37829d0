// SPDX-License-Identifier: Apache-2.0
#include "analyse/verdict/division.h"

#include <string.h>

#include "analyse/verdict/verdict.h"

enum { FEW_OPS = 50, DRAINS_EACH = 3 };

const struct judged_part *division_largest(const struct verdict_facts *facts, enum work_kind work)
{
    const struct judged_part *found = NULL;
    for (size_t i = 0; i < facts->judged.count; i++) {
        const struct judged_part *part = &facts->judged.parts[i];
        const bool fits = work == WORK_KINDS || part->work == work;
        if (fits && (!found || part->total_ns > found->total_ns))
            found = part;
    }
    return found;
}

bool division_is_removable(enum work_kind work)
{
    return work != WORK_COMPUTING && work != WORK_UNKNOWN;
}

// Calls of ops that do less than a call costs. Products are as fast as libraries make them.
static bool has_small_ops(const struct torch_known *torch)
{
    return torch && !torch->has_device && torch->op_calls >= FEW_OPS &&
           torch->small_op_ns > torch->op_ns / 2 && torch->product_ns <= torch->op_ns / 2;
}

// Of the rest, how long the thread slept: what its CPU time, its waits for a processor and the
// phases that wait do not account for. Half of the rest or more, for clocks are coarse.
static uint64_t asleep_in(const struct verdict_facts *facts, const struct division *division)
{
    const struct torch_known *torch = facts->torch;
    const uint64_t *by_work = division->by_work;
    const double total_ns = (double)division->total_ns;
    const uint64_t waits_ns =
        by_work[WORK_INPUT] + by_work[WORK_PEERS] + by_work[WORK_SAVING] + by_work[WORK_LOGGING];
    double asleep = 1 - (double)torch->cpu_ns / (double)torch->clocked_ns;
    if (facts->processor_of_ns)
        asleep -= (double)facts->processor_wait_ns / (double)facts->processor_of_ns;
    const double ns = asleep * total_ns - (double)waits_ns;
    if (ns * 2 < (double)division->rest_ns)
        return 0;
    return ns < (double)division->rest_ns ? (uint64_t)ns : division->rest_ns;
}

// What lies in no phase is Python, or sleep, only where ops and the CPU time of the thread are on
// record and nothing else explains it; a little may as well be computing that waits for its
// other threads.
static void divide_rest(const struct verdict_facts *facts, struct division *division)
{
    const struct torch_known *torch = facts->torch;
    uint64_t *by_work = division->by_work;
    if (!torch || !torch->op_calls || !torch->clocked_ns || torch->has_device ||
        verdict_percent(division->rest_ns, division->total_ns) < WORTH_PERCENT) {
        by_work[WORK_UNKNOWN] += division->rest_ns;
        return;
    }
    const uint64_t asleep_ns = asleep_in(facts, division);
    by_work[WORK_BLOCKED] += asleep_ns;
    by_work[WORK_PYTHON] += division->rest_ns - asleep_ns;
}

static struct division divide_host(const struct verdict_facts *facts)
{
    const struct judged *judged = &facts->judged;
    struct division division = {.base = facts->steps ? BASE_LOOP : BASE_RUN,
                                .total_ns = judged->total_ns,
                                .steps = judged->steps,
                                .rest_ns = judged->total_ns};
    for (size_t i = 0; i < judged->count; i++) {
        division.by_work[judged->parts[i].work] += judged->parts[i].total_ns;
        division.rest_ns -= judged->parts[i].total_ns;
    }
    divide_rest(facts, &division);
    division.has_small_ops = has_small_ops(facts->torch);
    if (division.has_small_ops) { // what they compute is done in no time
        division.by_work[WORK_HOST] = division.by_work[WORK_COMPUTING];
        division.by_work[WORK_COMPUTING] = 0;
    }
    return division;
}

// Where most of the host's part began each time that it had waited for the devices, the queue ran
// dry for that, however long the next launch took.
static struct division divide_device(const struct device_judged *devices)
{
    struct division division = {.base = devices->is_window ? BASE_WINDOW : BASE_STEP,
                                .is_device = true,
                                .total_ns = devices->total_ns,
                                .steps = devices->steps};
    const uint64_t rounds = devices->steps ? devices->steps : 1;
    uint64_t *by_work = division.by_work;
    memcpy(by_work, devices->by_work, sizeof division.by_work);
    if (verdict_percent(devices->unlaunched_ns, devices->total_ns) >= MOST_PERCENT) {
        const uint64_t host_ns = by_work[WORK_HOST];
        by_work[WORK_UNKNOWN] = devices->unlaunched_ns < host_ns ? devices->unlaunched_ns : host_ns;
        by_work[WORK_HOST] = host_ns - by_work[WORK_UNKNOWN];
    }
    if (devices->drained / DRAINS_EACH >= rounds && devices->drained_ns >= by_work[WORK_HOST] / 2) {
        by_work[WORK_SYNC] += by_work[WORK_HOST];
        by_work[WORK_HOST] = 0;
    }
    return division;
}

struct division division_of(const struct verdict_facts *facts)
{
    return facts->devices.total_ns ? divide_device(&facts->devices) : divide_host(facts);
}

enum work_kind division_lead(const struct division *division, bool *ret_is_several)
{
    // of equal parts the first of these; what is known comes before what is not
    static const enum work_kind order[] = {
        WORK_WAITING,   WORK_PEERS,      WORK_COPYING, WORK_INPUT,   WORK_SYNC,
        WORK_HOST,      WORK_EVAL_MODE,  WORK_TESTING, WORK_SAVING,  WORK_LOGGING,
        WORK_COMPILING, WORK_COLLECTING, WORK_PYTHON,  WORK_BLOCKED, WORK_UNKNOWN};
    const uint64_t *by_work = division->by_work, computing = by_work[WORK_COMPUTING];
    enum work_kind most = order[0];
    uint64_t several = 0;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        const uint64_t ns = by_work[order[i]];
        most = ns > by_work[most] ? order[i] : most;
        if (order[i] != WORK_UNKNOWN && verdict_percent(ns, division->total_ns) >= WORTH_PERCENT)
            several += ns;
    }
    *ret_is_several = false;
    if (verdict_percent(by_work[most], division->total_ns) >=
        (most == WORK_UNKNOWN ? MOST_PERCENT : LEAD_PERCENT))
        return most;
    if (verdict_percent(computing, division->total_ns) >= MOST_PERCENT)
        return WORK_COMPUTING;
    *ret_is_several = most != WORK_UNKNOWN && several && several >= computing;
    return *ret_is_several || by_work[most] > computing ? most : WORK_COMPUTING;
}
