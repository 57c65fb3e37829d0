// SPDX-License-Identifier: Apache-2.0
#include "analyse/compare/means.h"

#include <math.h>

#include "analyse/compare/student.h"

static double mean_of(const struct sample *sample)
{
    double sum = 0;
    for (size_t i = 0; i < sample->count; i++)
        sum += sample->values[i];
    return sample->count ? sum / (double)sample->count : 0;
}

static double squares_of(const struct sample *sample, double mean)
{
    double sum = 0;
    for (size_t i = 0; i < sample->count; i++)
        sum += (sample->values[i] - mean) * (sample->values[i] - mean);
    return sum;
}

// Welch's degrees of freedom for the sum of two variances of a mean.
static double degrees_of(double a, double b, double a_count, double b_count)
{
    const double sum = a + b;
    const double parts = a * a / (a_count - 1) + b * b / (b_count - 1);
    return parts > 0 ? sum * sum / parts : a_count + b_count - 2;
}

static void find_interval(struct means *means, const struct sample *a, const struct sample *b)
{
    const double a_count = (double)a->count, b_count = (double)b->count;
    const double a_squares = squares_of(a, means->a), b_squares = squares_of(b, means->b);
    const double of_a = a_squares / (a_count - 1) / a_count;
    const double of_b = b_squares / (b_count - 1) / b_count;
    const double error = sqrt(of_a + of_b) / means->a, pooled = a_count + b_count - 2;
    const double degrees = degrees_of(of_a, of_b, a_count, b_count);
    const double at_most = student_quantile(1 - (1 - MEANS_CONFIDENCE) / 2, degrees);
    means->has_interval = true;
    means->low = means->difference - at_most * error;
    means->high = means->difference + at_most * error;
    means->detectable = (at_most + student_quantile(MEANS_POWER, degrees)) * error;
    means->deviation =
        sqrt((a_squares + b_squares) / chi_square_quantile(1 - MEANS_SURE, pooled)) / means->a;
}

struct means means_compare(const struct sample *a, const struct sample *b)
{
    struct means means = {.a = mean_of(a), .b = mean_of(b)};
    means.is_known = a->count && b->count && means.a > 0 && isfinite(means.a) && isfinite(means.b);
    if (!means.is_known)
        return means;
    means.difference = means.b / means.a - 1;
    if (a->count > 1 && b->count > 1)
        find_interval(&means, a, b);
    return means;
}

static double detectable_with(double deviation, size_t repeats)
{
    const double degrees = 2 * ((double)repeats - 1);
    return (student_quantile(1 - (1 - MEANS_CONFIDENCE) / 2, degrees) +
            student_quantile(MEANS_POWER, degrees)) *
           deviation * sqrt(2 / (double)repeats);
}

size_t means_repeats(const struct means *means, double part)
{
    size_t low = 1, high = MEANS_MOST; // low is too few
    if (!means->has_interval || part <= 0 || detectable_with(means->deviation, high) > part)
        return 0;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (detectable_with(means->deviation, middle) <= part)
            high = middle;
        else
            low = middle;
    }
    return high;
}
