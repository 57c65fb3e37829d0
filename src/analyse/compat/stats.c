// SPDX-License-Identifier: Apache-2.0
#include "analyse/compat/stats.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

double stats_quantile(const double *values, size_t count, double share)
{
    if (!count)
        return NAN;
    const double place = share * (double)(count - 1);
    const size_t low = (size_t)place;
    const double part = place - (double)low;
    return low + 1 < count ? values[low] + (values[low + 1] - values[low]) * part : values[low];
}

struct stats stats_of(double *values, size_t count)
{
    struct stats stats = {count, 0, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    double squares = 0;
    if (!count)
        return stats;
    for (size_t i = 0; i < count; i++)
        stats.sum += values[i];
    stats.mean = stats.sum / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - stats.mean) * (values[i] - stats.mean);
    if (count > 1)
        stats.deviation = sqrt(squares / (double)(count - 1));
    qsort(values, count, sizeof *values, by_value);
    stats.least = values[0];
    stats.most = values[count - 1];
    stats.quarter = stats_quantile(values, count, 0.25);
    stats.middle = stats_quantile(values, count, 0.5);
    stats.three_quarters = stats_quantile(values, count, 0.75);
    return stats;
}

double stats_round(double number, int digits)
{
    const double scale = pow(10, digits);
    return isfinite(number) ? nearbyint(number * scale) / scale : number;
}
