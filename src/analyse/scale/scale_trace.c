// SPDX-License-Identifier: Apache-2.0
#include "analyse/scale/scale_trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gait/trace.h>

#include "analyse/energy/energy_run.h"
#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"
#include "base/buffer.h"
#include "base/fail.h"
#include "base/json_reader.h"
#include "vocabulary/metadata.h"

enum { MOST_MODEL_BYTES = 1000 };
static const double second_ns = 1e9;

static int no_memory(void)
{
    return fail(GAIT_ERR_MEMORY, "no memory for what a run took");
}

const char *scale_trace_strategy(const struct run_report *report)
{
    return report->torch && report->torch->rank_count > 1 ? "ddp" : "non-distributed";
}

static int by_name(const void *a, const void *b)
{
    const char *const *one = a, *const *other = b;
    return strcmp(*one, *other);
}

uint32_t scale_trace_nodes(const struct gait_trace *trace)
{
    const uint32_t shards = gait_trace_shard_count(trace);
    const char **hosts = calloc(shards + 1, sizeof *hosts);
    struct gait_shard_info shard;
    uint32_t known = 0, nodes = 0;
    for (uint32_t i = 0; hosts && i < shards; i++)
        if (!gait_trace_shard(trace, i, &shard))
            hosts[known++] = shard.host;
    if (hosts)
        qsort(hosts, known, sizeof *hosts, by_name);
    for (uint32_t i = 0; i < known; i++)
        nodes += !i || strcmp(hosts[i], hosts[i - 1]) != 0;
    free(hosts);
    return nodes;
}

size_t scale_trace_epochs(const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    const size_t count = torch ? torch->epoch_count : 0;
    return count > 1 && torch->epochs[count - 1].steps < torch->epochs[count - 2].steps ? count - 1
                                                                                        : count;
}

// --- who took part ----------------------------------------------------------------------

double scale_trace_workers(const struct gait_trace *trace, const struct run_report *report)
{
    double workers = report->rank_count ? report->rank_count : 1;
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++) {
        static const char *const keys[] = {"distributed", "trace.distributedInfo"};
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            const char *info = gait_trace_metadata(trace, i, keys[k]);
            const double size = info ? json_member_count(info, "world_size") : 0;
            workers = size > workers ? size : workers;
        }
    }
    return workers;
}

static int find_model(struct scale_set *set, struct scale_run *run, const struct gait_trace *trace)
{
    struct buffer text;
    int status = GAIT_OK;
    buffer_init(&text, MOST_MODEL_BYTES);
    for (uint32_t i = 0; !status && !run->model && i < gait_trace_shard_count(trace); i++) {
        const char *model = gait_trace_metadata(trace, i, meta.lightning_module);
        if (!model)
            continue;
        text.used = 0;
        status = json_decode(model, &text);
        if (!status && text.used > 1)
            run->model = scale_set_text(set, (const char *)text.bytes);
    }
    buffer_finish(&text);
    return status;
}

// --- time -------------------------------------------------------------------------------

static int add_epochs(struct scale_run *run, const struct run_report *report)
{
    const size_t count = scale_trace_epochs(report);
    const struct torch_report *torch = report->torch;
    uint64_t steps = 0;
    int status = GAIT_OK;
    for (size_t i = 0; !status && i < count; i++) {
        status = scale_run_add_epoch(run, (double)torch->epochs[i].wall_ns / second_ns);
        steps += torch->epochs[i].steps;
    }
    if (count)
        run->epoch_samples = torch->throughput.step_samples * (double)steps / (double)count;
    return status;
}

static void put_epoch_parts(struct scale_run *run, const struct torch_report *torch)
{
    struct scale_part *outside = &run->parts[run->part_count - 1];
    *outside = (struct scale_part){.name = "outside of steps"};
    for (size_t i = 0; i < run->epoch_count; i++) {
        double left = (double)torch->epochs[i].wall_ns;
        for (size_t k = 0; k + 1 < run->part_count; k++) {
            const double part = (double)torch->epochs[i].phases[k];
            run->parts[k].epochs_s += part / second_ns;
            run->parts[k].first_s += i ? 0 : part / second_ns;
            left -= part;
        }
        outside->epochs_s += left / second_ns;
        outside->first_s += i ? 0 : left / second_ns;
    }
}

static int add_torch_parts(struct scale_set *set, struct scale_run *run,
                           const struct torch_report *torch)
{
    const struct torch_judged *judged = &torch->judged;
    run->part_count = torch->phases.count + 1;
    run->parts = arena_take(&set->arena, run->part_count * sizeof *run->parts);
    if (!run->parts)
        return no_memory();
    for (unsigned i = 0; i < torch->phases.count; i++) {
        run->parts[i] = (struct scale_part){.name = scale_set_text(set, torch->phases.names[i])};
        if (!run->parts[i].name)
            return no_memory();
        if (judged->steps)
            run->parts[i].step_s = (double)judged->phases[i] / (double)judged->steps / second_ns;
    }
    put_epoch_parts(run, torch);
    return GAIT_OK;
}

static int add_torch(struct scale_set *set, struct scale_run *run, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    const struct torch_judged *judged = &torch->judged;
    run->steps = judged->steps;
    run->step_s = judged->steps ? (double)judged->total_ns / (double)judged->steps / second_ns : 0;
    run->step_samples = torch->throughput.step_samples;
    const int status = add_epochs(run, report);
    return status ? status : add_torch_parts(set, run, torch);
}

// Of a program that marks its steps, and is no training in PyTorch.
static int add_ledger(struct scale_set *set, struct scale_run *run, const struct run_report *report)
{
    const struct report_ledger *ledger = &report->ledger;
    const double steps = (double)report->steps.count;
    run->steps = report->steps.count;
    run->step_s = (double)report->steps.total_ns / steps / second_ns;
    run->part_count = ledger->count + 1;
    run->parts = arena_take(&set->arena, run->part_count * sizeof *run->parts);
    if (!run->parts)
        return no_memory();
    for (size_t i = 0; i <= ledger->count; i++) {
        const bool is_other = i == ledger->count;
        const char *name = is_other ? "other" : ledger->phases[i].name;
        const uint64_t ns = is_other ? ledger->other_ns : ledger->phases[i].total_ns;
        run->parts[i] = (struct scale_part){.name = scale_set_text(set, name),
                                            .step_s = (double)ns / steps / second_ns};
        if (!run->parts[i].name)
            return no_memory();
    }
    return GAIT_OK;
}

// --- what computes ----------------------------------------------------------------------

static bool find_device_shares(struct scale_shares *shares, const struct device_run *devices)
{
    const unsigned compute = 1u << LANE_COMPUTE, communication = 1u << LANE_COMM;
    for (size_t i = 0; i < devices->count; i++) {
        const struct breakdown *whole = &devices->ranks[i].whole;
        if (!devices->ranks[i].has_device)
            continue;
        shares->computation += (double)breakdown_time(whole, compute, 0);
        shares->communication += (double)breakdown_time(whole, communication, compute);
        shares->total += (double)whole->span_ns;
    }
    shares->basis = "device timelines";
    return shares->total > 0;
}

static void find_phase_shares(struct scale_shares *shares, const struct torch_judged *judged)
{
    static const enum torch_phase computing[] = {TORCH_FORWARD, TORCH_BACKWARD, TORCH_OPTIMIZER};
    *shares = (struct scale_shares){.communication = (double)judged->phases[TORCH_COMMUNICATION],
                                    .total = (double)judged->total_ns,
                                    .basis = "phases of steps"};
    for (size_t i = 0; i < sizeof computing / sizeof computing[0]; i++)
        shares->computation += (double)judged->phases[computing[i]];
}

// --- energy -----------------------------------------------------------------------------

// Of the GPUs; of processors and their memory where no GPU was measured.
static int find_energy(struct scale_run *run, struct gait_trace *trace)
{
    static const double hour_s = 3600;
    struct energy_run devices;
    double busy = 0, count = 0;
    int status = energy_run_read(&devices, trace);
    const unsigned kinds =
        !status && energy_run_devices(&devices, ENERGY_GPUS) ? ENERGY_GPUS : ENERGY_ALL;
    if (!status && energy_run_devices(&devices, kinds)) {
        const struct energy energy = energy_run_of(&devices, &(struct energy_wish){.kinds = kinds});
        run->has_energy = energy.measured_ns > 0;
        run->energy_wh = energy.joules / hour_s;
    }
    for (size_t i = 0; !status && i < devices.count; i++) {
        const double mean = energy_gauge_mean(&devices.devices[i].gauges[METER_BUSY]);
        busy += mean >= 0 ? mean : 0; // a NAN is not
        count += mean >= 0;
    }
    run->utilisation = count > 0 ? busy / count : NAN;
    energy_run_finish(&devices);
    return status;
}

int scale_trace_add(struct scale_set *set, struct gait_trace *trace,
                    const struct run_report *report, const struct scale_run *like)
{
    if (!report->steps.count || !report->steps.total_ns)
        return fail(GAIT_ERR_MISSING, "it has no steps");
    struct scale_run *run = scale_set_add(set);
    if (!run)
        return no_memory();
    *run = (struct scale_run){.source = like->source,
                              .path = scale_set_text(set, like->path),
                              .id = scale_set_text(set, like->id),
                              .strategy = scale_trace_strategy(report),
                              .nodes = scale_trace_nodes(trace),
                              .workers = scale_trace_workers(trace, report)};
    if (!run->path || !run->id)
        return no_memory();
    if (run->workers > 1)
        run->strategy = "ddp";
    int status = report->torch ? add_torch(set, run, report) : add_ledger(set, run, report);
    if (!status)
        status = likeness_of(&run->like, report, &set->arena);
    run->like.ranks = (uint64_t)run->workers;
    if (!find_device_shares(&run->shares, &report->devices) && report->torch)
        find_phase_shares(&run->shares, &report->torch->judged);
    if (!status)
        status = find_energy(run, trace);
    return status ? status : find_model(set, run, trace);
}
