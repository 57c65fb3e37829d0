// SPDX-License-Identifier: Apache-2.0
// Two sets of runs: which figures differ, by how much, and which ops made it.
#ifndef GAIT_ANALYSE_COMPARISON_H
#define GAIT_ANALYSE_COMPARISON_H

#include "analyse/compare/means.h"
#include "analyse/compare/run_metrics.h"

struct run_set {
    struct run_metrics *runs;
    size_t count;
};

enum comparison_verdict {
    COMPARED_UNKNOWN, // fewer than two runs a side
    COMPARED_SAME,    // no difference is shown
    COMPARED_MORE,
    COMPARED_LESS,
};
extern const char *const comparison_verdict_names[]; // by enum comparison_verdict

struct metric_row {
    const char *name;
    enum metric_unit unit;
    struct means means;
    enum comparison_verdict verdict;
};

struct op_row {
    const char *name;
    double a_ns, b_ns; // self time a step, over all runs of a side
};

// What the sides say of themselves and do not agree in. NULL: a side says nothing.
struct identity_change {
    const char *key, *a, *b; // of the first run of the side
    bool a_varies, b_varies; // the other runs of the side say something else
};

struct comparison {
    struct metric_row *metrics; // figures of all runs; phases that a run lacks took no time
    size_t metric_count;
    struct op_row *ops; // the largest change first
    size_t op_count;
    struct identity_change *changes;
    size_t change_count;
    const char *unlike; // why the runs are not alike, in a sentence; NULL: they are
};

// Rows belong to the arena. Both sets have a run.
GAIT_CHECK int comparison_make(struct comparison *comparison, const struct run_set *a,
                               const struct run_set *b, struct arena *arena);

const struct metric_row *comparison_find(const struct comparison *comparison, const char *name);

// "step.p50>5%": fails if the figure rises by more than 5 %; "throughput.samples<-5%": if it
// falls by more than that.
struct limit {
    char name[200];
    bool is_above;
    double part; // 0.05 for 5 %
};
enum limit_verdict { LIMIT_KEPT, LIMIT_BROKEN, LIMIT_OPEN };
extern const char *const limit_verdict_names[]; // by enum limit_verdict

GAIT_CHECK int limit_read(struct limit *limit, const char *text);

// Kept or broken where all of the interval lies on one side of the limit; else it is open.
enum limit_verdict limit_judge(const struct limit *limit, const struct metric_row *row);

#endif
