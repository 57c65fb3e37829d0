// SPDX-License-Identifier: Apache-2.0
// The figures of one run that runs are compared by, and what makes runs alike.
#ifndef GAIT_ANALYSE_RUN_METRICS_H
#define GAIT_ANALYSE_RUN_METRICS_H

#include <stddef.h>

#include <gait/error.h>

#include "analyse/compare/likeness.h"
#include "analyse/job/run_identity.h"
#include "base/arena.h"

enum metric_unit { METRIC_NS, METRIC_BYTES, METRIC_PER_SECOND };

// Names are step.mean, step.p50, step.p95, phase.NAME, throughput.samples, .tokens, .steps,
// memory.peak. Of a PyTorch run steps are the steady ones: without the first and those that
// compile.
struct run_metric {
    const char *name;
    double value;
    enum metric_unit unit;
};

// Self time of an op in a step whose ops were recorded, on the first rank.
struct run_op {
    const char *name;
    double step_ns;
};

struct run_metrics {
    const char *path;
    struct run_metric *metrics;
    size_t count, capacity;
    struct run_op *ops;
    size_t op_count;
    struct likeness like;
    struct run_identity identity;
};

struct run_report;

// Texts and rows belong to the arena. A run without steps is refused in one sentence.
GAIT_CHECK int run_metrics_make(struct run_metrics *metrics, const struct run_report *report,
                                const char *path, struct arena *arena);

// NULL: the run does not have it.
const struct run_metric *run_metrics_find(const struct run_metrics *metrics, const char *name);

#endif
