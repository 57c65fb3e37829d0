// SPDX-License-Identifier: Apache-2.0
// Two sets of repeats, compared by their means (Welch). The unit is a run: what follows
// each other within a run is not independent, and is one value here. Pure.
#ifndef GAIT_ANALYSE_MEANS_H
#define GAIT_ANALYSE_MEANS_H

#include <stdbool.h>
#include <stddef.h>

struct sample {
    const double *values;
    size_t count;
};

// Of B against A, as parts of A's mean: 0.03 is 3 % more.
struct means {
    double a, b;   // the means themselves
    bool is_known; // both sets have a mean, and A's is above 0
    double difference;
    bool has_interval; // both have at least two values
    double low, high;  // of the difference, at MEANS_CONFIDENCE
    double detectable; // what would be found with MEANS_POWER
    double deviation;  // of one run, pooled: no more than this at MEANS_SURE
};

#define MEANS_CONFIDENCE 0.95
#define MEANS_POWER 0.9
#define MEANS_SURE 0.9 // that a deviation known from few repeats is not larger

struct means means_compare(const struct sample *a, const struct sample *b);

// How many repeats a side find a difference of `part` with MEANS_POWER, at most MEANS_MOST;
// 0: more than that, or not known.
enum { MEANS_MOST = 10000 };
size_t means_repeats(const struct means *means, double part);

#endif
