// SPDX-License-Identifier: Apache-2.0
// How trainings scale: the runs of a set brought together by strategy and size, repeats as
// mean and interval, speedup and efficiency, the laws that fit, and where efficiency is lost.
//
// All of it rests on what a unit of work costs in workers times seconds: efficiency is the cost at
// the base over the cost here. A unit of work is a sample where samples were counted.
#ifndef GAIT_ANALYSE_SCALING_H
#define GAIT_ANALYSE_SCALING_H

#include "analyse/scale/scale_fit.h"
#include "analyse/scale/scale_set.h"

// Of repeats; `low` and `high` are the 95 % interval of the mean.
struct scale_figure {
    size_t count; // 0: not known
    double mean, deviation, low, high;
    bool has_interval; // two repeats or more
};

// What one part of the time costs of the efficiency; below 0 it saves.
struct scale_loss {
    const char *part;
    double share;
};

struct scale_part_time {
    const char *name;
    double seconds;
};

struct scale_point {
    double workers, nodes;
    struct scale_figure time_s, energy_wh, utilisation;
    struct scale_shares shares;
    double cost;                   // of a unit of work, in workers times seconds; 0: not known
    double speedup, efficiency;    // 0: not known
    struct scale_part_time *parts; // sum to the mean time, if there are any
    size_t part_count;
    struct scale_loss *losses; // sum to 1 - efficiency
    size_t loss_count;
    struct itwinai_sums itwinai;
    double itwinai_speedup; // 0: not known
};

enum scale_kind { SCALE_STRONG, SCALE_WEAK, SCALE_MIXED };
extern const char *const scale_kind_names[];

struct scale_series {
    const char *strategy, *model;
    struct scale_point *points; // by workers
    size_t count;
    enum scale_kind kind;
    bool is_kind_told;              // by samples or the user, not assumed
    const struct scale_point *base; // NULL: no point has a time
    bool is_base_lent;              // by the training without distribution
    struct scale_fit amdahl, usl;
};

enum scale_basis { SCALE_BY_EPOCH, SCALE_BY_STEP };
enum scale_baseline { SCALE_OWN, SCALE_COMMON };

struct scaling {
    struct arena arena;
    struct scale_series *series;
    size_t count;
    enum scale_basis basis;
    size_t untimed;    // runs that tell no time of that basis
    bool leaves_first; // the first epoch of a run with two or more does not count
    bool is_by_sample; // a unit of work is a sample, else an epoch or a step
    bool has_models;   // runs of different models
    enum scale_baseline baseline;
};

struct scaling_wish {
    enum scale_baseline baseline;
    bool has_kind; // the user says how the work grows
    enum scale_kind kind;
    bool keeps_first;
};

// The set outlives the answer.
GAIT_CHECK int scaling_make(struct scaling *scaling, const struct scale_set *set,
                            const struct scaling_wish *wish);
void scaling_finish(struct scaling *scaling); // takes NULL and a zeroed struct

// The time of a run that counts, in seconds; 0: it has none.
double scaling_time(const struct scaling *scaling, const struct scale_run *run);

#endif
