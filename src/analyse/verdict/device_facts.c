// SPDX-License-Identifier: Apache-2.0
#include "analyse/verdict/device_facts.h"

#include <string.h>

#include <gait/trace.h>

#include "analyse/device/collectives.h"
#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"
#include "analyse/verdict/verdict.h"
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
}

// How much of what collectives take the ranks wait for each other: what is beyond the
// transfer.
static int find_waiting(struct gait_trace *trace, double *ret_share)
{
    struct collectives collectives;
    uint64_t device_ns = 0, waiting_ns = 0;
    const int status = collectives_make(&collectives, trace, NULL);
    if (status)
        return status;
    for (size_t i = 0; i < collectives.count; i++) {
        device_ns += collectives.sums[i].device_ns;
        waiting_ns += collectives.sums[i].waiting_ns;
    }
    collectives_finish(&collectives);
    *ret_share = waiting_ns < device_ns ? (double)waiting_ns / (double)device_ns : device_ns > 0;
    return GAIT_OK;
}

static void part_waiting(struct device_judged *judged, double share)
{
    const uint64_t comm_ns = judged->by_work[WORK_PEERS];
    judged->by_work[WORK_WAITING] = (uint64_t)(share * (double)comm_ns);
    judged->by_work[WORK_PEERS] = comm_ns - judged->by_work[WORK_WAITING];
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
static struct device_judged judge_rank(const struct run_report *report,
                                       const struct breakdown_rank *rank, bool has_steps)
{
    struct device_judged judged = {.steps = rank->step_count};
    for (size_t k = 0; report->is_imported && k < rank->step_count; k++)
        add_devices(&judged, &rank->steps[k].breakdown);
    if (!has_steps || !report->is_imported)
        add_devices(&judged, &rank->whole);
    if (!report->is_imported)
        take_cost(&judged, report->torch, rank->shard);
    return judged;
}

static void add_rank(struct device_judged *sum, const struct device_judged *rank)
{
    sum->total_ns += rank->total_ns;
    sum->unlaunched_ns += rank->unlaunched_ns;
    sum->steps = rank->steps > sum->steps ? rank->steps : sum->steps;
    for (unsigned i = 0; i < WORK_KINDS; i++)
        sum->by_work[i] += rank->by_work[i];
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

// The rank with the longest steps is the first to ask: where it waits for others, that is
// what holds the job up; else all ranks together are judged.
int device_facts_find(const struct run_report *report, struct gait_trace *trace,
                      struct verdict_facts *facts)
{
    struct device_judged longest = {.total_ns = 0};
    size_t ranks = 0, steps = 0;
    double waiting = 0;
    for (size_t i = 0; i < report->devices.count; i++)
        steps += report->devices.ranks[i].has_device ? report->devices.ranks[i].step_count : 0;
    for (size_t i = 0; i < report->devices.count; i++) {
        if (!report->devices.ranks[i].has_device)
            continue;
        const struct device_judged rank = judge_rank(report, &report->devices.ranks[i], steps > 0);
        add_rank(&facts->devices, &rank);
        ranks += rank.total_ns > 0;
        if (rank.total_ns > longest.total_ns)
            longest = rank;
    }
    facts->lacks_device_rows = !facts->devices.total_ns && lacks_device_rows(report, trace);
    if (ranks < 2 || facts->devices.by_work[WORK_PEERS] < facts->devices.total_ns / 10)
        return GAIT_OK;
    const int status = find_waiting(trace, &waiting);
    part_waiting(&facts->devices, waiting);
    part_waiting(&longest, waiting);
    if (device_verdict_lead(&longest) == WORK_WAITING)
        facts->devices = longest;
    return status;
}
