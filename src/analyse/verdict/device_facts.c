// SPDX-License-Identifier: Apache-2.0
#include "analyse/verdict/device_facts.h"

#include <string.h>

#include <gait/trace.h>

#include "analyse/device/collectives.h"
#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"
#include "analyse/verdict/division.h"
#include "analyse/verdict/verdict.h"
#include "base/fail.h"
#include "vocabulary/roles.h"

static void add_devices(struct device_judged *judged, const struct breakdown *breakdown)
{
    uint64_t *by_work = judged->by_work;
    const uint64_t comm_ns = breakdown_time(breakdown, DEVICE_COMM, DEVICE_COMPUTE);
    const uint64_t input_ns = breakdown->waiting_ns[WAIT_INPUT];
    const uint64_t sync_ns = breakdown->waiting_ns[WAIT_DEVICE];
    judged->total_ns += breakdown->span_ns;
    by_work[WORK_COMPUTING] += breakdown_time(breakdown, DEVICE_COMPUTE, 0);
    by_work[WORK_PEERS] += comm_ns;
    by_work[WORK_COPYING] += breakdown_time(breakdown, DEVICE_COPY, DEVICE_COMPUTE | DEVICE_COMM);
    by_work[WORK_INPUT] += input_ns;
    by_work[WORK_SYNC] += sync_ns;
    by_work[WORK_HOST] += breakdown->state_ns[0] - input_ns - sync_ns;
    judged->unlaunched_ns += breakdown->idle_ns[IDLE_UNKNOWN];
    judged->drained_ns += breakdown->drained_ns;
    judged->drained += breakdown->drained;
}

// What recording ops took of the host in the windows, of which steps outside know nothing.
static void take_cost(struct device_judged *judged, const struct torch_report *torch,
                      uint32_t shard)
{
    uint64_t *host_ns = &judged->by_work[WORK_HOST];
    for (size_t i = 0; torch && i < torch->rank_count; i++) {
        const struct torch_rank *rank = &torch->ranks[i];
        if (torch->survey.shard_of[rank->track] != shard || !rank->windows.is_known)
            continue;
        const uint64_t cost_ns = rank->windows.each_ns * judged->steps;
        const uint64_t taken_ns = cost_ns < *host_ns ? cost_ns : *host_ns;
        *host_ns -= taken_ns;
        judged->total_ns -= taken_ns;
    }
}

// A program that does not wait for its device is some steps ahead of it: of gait's own
// windows the time from the first device event to the last is judged.
// Its turns, as every other answer tells them; what their idle time came of only sums of it know.
static void take_turns(struct device_judged *judged, const struct turns *turns, uint32_t shard)
{
    static const enum work_kind works[TURN_PARTS] = {
        [LANE_COMPUTE] = WORK_COMPUTING, [LANE_COMM] = WORK_PEERS,
        [LANE_COPY] = WORK_COPYING,      [ACTIVITY_INPUT] = WORK_INPUT,
        [ACTIVITY_BLOCKING] = WORK_SYNC, [ACTIVITY_ALLOC] = WORK_HOST,
        [ACTIVITY_LAUNCH] = WORK_HOST,   [ACTIVITY_OP] = WORK_HOST,
        [ACTIVITY_PYTHON] = WORK_HOST,   [TURN_NOTHING] = WORK_HOST};
    for (size_t i = 0; i < turns->count; i++) {
        const struct turn_rank *rank = &turns->ranks[i];
        if (rank->shard != shard || !rank->told_ns)
            continue;
        judged->steps = rank->told;
        judged->total_ns = rank->told_ns;
        memset(judged->by_work, 0, sizeof judged->by_work);
        for (unsigned part = 0; part < TURN_PARTS; part++)
            judged->by_work[works[part]] += rank->sums.ns[part];
    }
}

static struct device_judged judge_rank(const struct run_report *report,
                                       const struct breakdown_rank *rank, bool has_steps)
{
    struct device_judged judged = {.steps = rank->step_count,
                                   .shard = rank->shard,
                                   .is_window = !has_steps || !report->is_imported};
    for (size_t k = 0; report->is_imported && k < rank->step_count; k++)
        add_devices(&judged, &rank->steps[k].breakdown);
    if (!judged.is_window)
        take_turns(&judged, &report->devices.turns, rank->shard);
    if (judged.is_window)
        add_devices(&judged, &rank->whole);
    if (!report->is_imported)
        take_cost(&judged, report->torch, rank->shard);
    return judged;
}

static bool has_device(const struct gait_trace *trace, uint32_t shard)
{
    const char *properties = gait_trace_metadata(trace, shard, "trace.deviceProperties");
    return properties && strstr(properties, "\"name\"");
}

// A profiler wrote which devices there are, or calls that launched work on them, and not
// what they did.
static bool lacks_device_rows(const struct run_report *report, const struct gait_trace *trace)
{
    const struct torch_report *torch = report->torch;
    for (uint32_t i = 0; report->is_imported && torch && i < torch->survey.shard_count; i++)
        if (torch->survey.shards[i].events[ROLE_RUNTIME] || has_device(trace, i))
            return true;
    return false;
}

// --- ranks ---------------------------------------------------------------------------

// What collectives took of the devices of a rank, and how much of it was waiting for others.
struct waits {
    int64_t rank;
    uint64_t device_ns, waiting_ns;
};

static struct waits waits_of(const struct collectives *collectives, int64_t rank)
{
    struct waits waits = {.rank = rank};
    for (size_t i = 0; i < collectives->call_count; i++) {
        const struct collective_call *call = &collectives->calls[i];
        if (call->rank != rank)
            continue;
        waits.device_ns += call->ns;
        waits.waiting_ns += call->waiting_ns;
    }
    return waits;
}

static void part_waiting(struct device_judged *judged, const struct waits *waits)
{
    const uint64_t comm_ns = judged->by_work[WORK_PEERS];
    const double share =
        waits->device_ns ? (double)waits->waiting_ns / (double)waits->device_ns : 0;
    judged->by_work[WORK_WAITING] = (uint64_t)(share * (double)comm_ns);
    judged->by_work[WORK_PEERS] = comm_ns - judged->by_work[WORK_WAITING];
}

static int64_t number_of(const struct gait_trace *trace, uint32_t shard)
{
    struct gait_shard_info info;
    return gait_trace_shard(trace, shard, &info) || info.rank < 0 ? (int64_t)shard : info.rank;
}

static size_t judge_ranks(const struct run_report *report, const struct gait_trace *trace,
                          struct judged_rank *ranks)
{
    size_t steps = 0, count = 0;
    for (size_t i = 0; i < report->devices.count; i++)
        steps += report->devices.ranks[i].has_device ? report->devices.ranks[i].step_count : 0;
    for (size_t i = 0; i < report->devices.count; i++) {
        const struct breakdown_rank *rank = &report->devices.ranks[i];
        if (!rank->has_device)
            continue;
        ranks[count] = (struct judged_rank){.judged = judge_rank(report, rank, steps > 0),
                                            .rank = number_of(trace, rank->shard)};
        count += ranks[count].judged.total_ns > 0;
    }
    return count;
}

static int find_waits(struct gait_trace *trace, struct judged_rank *ranks, size_t count)
{
    struct collectives collectives;
    uint64_t comm_ns = 0, total_ns = 0;
    for (size_t i = 0; i < count; i++) {
        comm_ns += ranks[i].judged.by_work[WORK_PEERS];
        total_ns += ranks[i].judged.total_ns;
    }
    if (count < 2 || comm_ns < total_ns / 10)
        return GAIT_OK;
    const int status = collectives_make(&collectives, trace, NULL);
    if (status)
        return status;
    for (size_t i = 0; i < count; i++) {
        const struct waits waits = waits_of(&collectives, ranks[i].rank);
        part_waiting(&ranks[i].judged, &waits);
    }
    collectives_finish(&collectives);
    return GAIT_OK;
}

// The rank with the longest steps is the first to ask: where it waits for others, that is what
// holds the job up. Else the one with the most work of its own is what all steps last as long as.
static void choose(struct judged_rank *ranks, size_t count, struct verdict_facts *facts)
{
    const struct judged_rank *longest = ranks, *busiest = ranks;
    for (size_t i = 0; i < count; i++) {
        struct judged_rank *rank = &ranks[i];
        const struct device_judged *judged = &rank->judged;
        rank->rounds = judged->steps && !judged->is_window ? judged->steps : 1;
        rank->step_ns = judged->total_ns / rank->rounds;
        rank->own_ns = (judged->total_ns - judged->by_work[WORK_WAITING]) / rank->rounds;
        longest = rank->step_ns > longest->step_ns ? rank : longest;
        busiest = rank->own_ns > busiest->own_ns ? rank : busiest;
    }
    facts->device_ranks = count;
    facts->longest_rank = longest->rank;
    facts->busiest_rank = busiest->rank;
    facts->devices = longest->judged;
    bool is_several;
    const struct division division = division_of(facts);
    if (division_lead(&division, &is_several) != WORK_WAITING)
        facts->devices = busiest->judged;
    if (longest->step_ns)
        facts->devices.peers_ceiling = 1 - (double)busiest->own_ns / (double)longest->step_ns;
}

int device_facts_find(struct run_report *report, struct gait_trace *trace,
                      struct verdict_facts *facts)
{
    const size_t room = report->devices.count + 1;
    struct judged_rank *ranks = arena_take(&report->arena, room * sizeof *ranks);
    if (!ranks)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu ranks", report->devices.count);
    const size_t count = judge_ranks(report, trace, ranks);
    const int status = find_waits(trace, ranks, count);
    if (count && !status)
        choose(ranks, count, facts);
    report->judged = ranks;
    report->judged_count = count;
    facts->lacks_device_rows = !count && lacks_device_rows(report, trace);
    return status;
}
