// SPDX-License-Identifier: Apache-2.0
// Statistics of numbers as pandas gives them: quantiles by linear interpolation, the
// deviation of a sample (n - 1). NAN where there are too few.
#ifndef GAIT_ANALYSE_COMPAT_STATS_H
#define GAIT_ANALYSE_COMPAT_STATS_H

#include <stddef.h>

struct stats {
    size_t count;
    double sum, mean, deviation, least, quarter, middle, three_quarters, most;
};

// Sorts the values.
struct stats stats_of(double *values, size_t count);

// Of sorted values.
double stats_quantile(const double *values, size_t count, double share);

// The nearest number with so many digits behind the point, halves to even.
double stats_round(double number, int digits);

#endif
