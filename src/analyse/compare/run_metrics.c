// SPDX-License-Identifier: Apache-2.0
#include "analyse/compare/run_metrics.h"

#include <stdio.h>
#include <string.h>

#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"
#include "base/fail.h"

enum { OTHER_METRICS = 8, NAME_BYTES = 200 };

static int no_memory(void)
{
    return fail(GAIT_ERR_MEMORY, "no memory for the figures of a run");
}

static int add(struct run_metrics *metrics, const struct run_metric *metric)
{
    if (metrics->count == metrics->capacity)
        return no_memory();
    metrics->metrics[metrics->count++] = *metric;
    return GAIT_OK;
}

// The steps that are compared: the steady ones, where a training has such.
static const struct steps_summary *steps_of(const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    if (torch && torch->steady.count)
        return &torch->steady;
    return torch && torch->training.count ? &torch->training : &report->steps;
}

static int add_steps(struct run_metrics *metrics, const struct steps_summary *steps)
{
    const struct run_metric rows[] = {
        {"step.mean", (double)steps->total_ns / (double)steps->count, METRIC_NS},
        {"step.p50", (double)steps->p50_ns, METRIC_NS},
        {"step.p95", (double)steps->p95_ns, METRIC_NS},
    };
    int status = GAIT_OK;
    for (size_t i = 0; !status && i < sizeof rows / sizeof rows[0]; i++)
        status = add(metrics, &rows[i]);
    return status;
}

static int add_rate(struct run_metrics *metrics, const char *name, double rate)
{
    return rate > 0 ? add(metrics, &(struct run_metric){name, rate, METRIC_PER_SECOND}) : GAIT_OK;
}

static int add_phase(struct run_metrics *metrics, struct arena *arena, const char *phase,
                     double step_ns)
{
    char name[NAME_BYTES];
    const int length = snprintf(name, sizeof name, "phase.%s", phase);
    const char *kept =
        arena_text(arena, name, length < NAME_BYTES ? (size_t)length : sizeof name - 1);
    const struct run_metric metric = {kept, step_ns, METRIC_NS};
    return kept ? add(metrics, &metric) : no_memory();
}

static int add_phases(struct run_metrics *metrics, const struct run_report *report,
                      struct arena *arena)
{
    const struct torch_report *torch = report->torch;
    const struct report_ledger *ledger = &report->ledger;
    const double steps = (double)report->steps.count;
    int status = GAIT_OK;
    if (torch && torch->judged.steps) {
        for (unsigned i = 0; !status && i < torch->phases.count; i++)
            if (torch->judged.phases[i])
                status = add_phase(metrics, arena, torch->phases.names[i],
                                   (double)torch->judged.phases[i] / (double)torch->judged.steps);
        return status;
    }
    for (size_t i = 0; !status && i < ledger->count; i++)
        status = add_phase(metrics, arena, ledger->phases[i].name,
                           (double)ledger->phases[i].total_ns / steps);
    return status || !ledger->other_ns
               ? status
               : add_phase(metrics, arena, "other", (double)ledger->other_ns / steps);
}

static int add_throughput(struct run_metrics *metrics, const struct run_report *report)
{
    const struct torch_report *torch = report->torch;
    const struct steps_summary *steps = &report->steps;
    if (!torch)
        return add_rate(metrics, "throughput.steps",
                        steps->total_ns > 0 ? (double)steps->count * 1e9 / (double)steps->total_ns
                                            : 0);
    int status = add_rate(metrics, "throughput.steps", torch->throughput.steps_per_s);
    if (!status)
        status = add_rate(metrics, "throughput.samples", torch->throughput.samples_per_s);
    if (!status)
        status = add_rate(metrics, "throughput.tokens", torch->throughput.tokens_per_s);
    return status;
}

static int take_ops(struct run_metrics *metrics, const struct torch_report *torch,
                    struct arena *arena)
{
    const uint64_t steps = torch->rank_count ? torch->ranks[0].recorded : 0;
    if (!steps || !torch->ops.count)
        return GAIT_OK;
    metrics->ops = arena_take(arena, torch->ops.count * sizeof *metrics->ops);
    if (!metrics->ops)
        return no_memory();
    for (size_t i = 0; i < torch->ops.count; i++) {
        const struct top_op *op = &torch->ops.rows[i];
        const char *name = arena_text(arena, op->name, strlen(op->name));
        if (!name)
            return no_memory();
        metrics->ops[metrics->op_count++] =
            (struct run_op){name, (double)op->self_ns / (double)steps};
    }
    return GAIT_OK;
}

int run_metrics_make(struct run_metrics *metrics, const struct run_report *report, const char *path,
                     struct arena *arena)
{
    const struct steps_summary *steps = steps_of(report);
    const size_t phases = report->torch ? report->torch->phases.count : report->ledger.count;
    *metrics = (struct run_metrics){.path = path, .capacity = phases + OTHER_METRICS};
    if (!report->steps.count || !steps->count)
        return fail(GAIT_ERR_MISSING, "'%s' has no steps to compare", path);
    metrics->metrics = arena_take(arena, metrics->capacity * sizeof *metrics->metrics);
    if (!metrics->metrics)
        return no_memory();
    int status = add_steps(metrics, steps);
    if (!status)
        status = add_phases(metrics, report, arena);
    if (!status)
        status = add_throughput(metrics, report);
    const struct run_metric memory = {"memory.peak", (double)report->memory_peak_bytes,
                                      METRIC_BYTES};
    if (!status && report->memory_peak_bytes)
        status = add(metrics, &memory);
    if (!status && report->torch)
        status = take_ops(metrics, report->torch, arena);
    return status ? status : likeness_of(&metrics->like, report, arena);
}

const struct run_metric *run_metrics_find(const struct run_metrics *metrics, const char *name)
{
    for (size_t i = 0; i < metrics->count; i++)
        if (!strcmp(metrics->metrics[i].name, name))
            return &metrics->metrics[i];
    return NULL;
}
