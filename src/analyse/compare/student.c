// SPDX-License-Identifier: Apache-2.0
// Distribution functions by the continued fraction of the incomplete beta function and by the
// series of the incomplete gamma function; quantiles by halving an interval, 200 times at most.
#include "analyse/compare/student.h"

#include <math.h>

enum { MOST_TERMS = 500, MOST_HALVINGS = 200 };
static const double tiny = 1e-300, enough = 1e-15;

static double at_least_tiny(double value)
{
    return fabs(value) < tiny ? tiny : value;
}

// Lentz's way to sum the continued fraction of the incomplete beta function.
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / at_least_tiny(1 - (a + b) * x / (a + 1)), sum = d;
    for (int m = 1; m <= MOST_TERMS; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / at_least_tiny(1 + even * d);
        c = at_least_tiny(1 + even / c);
        sum *= d * c;
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / at_least_tiny(1 + odd * d);
        c = at_least_tiny(1 + odd / c);
        sum *= d * c;
        if (fabs(d * c - 1) < enough)
            break;
    }
    return sum;
}

static double incomplete_beta(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x > 0;
    const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

static double student(double t, double degrees)
{
    const double tail = incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
    return t > 0 ? 1 - tail : tail;
}

static double chi_square(double x, double degrees)
{
    const double a = degrees / 2, half = x / 2;
    double term = 1 / a, sum = term;
    for (int n = 1; n < 100 * MOST_TERMS && term > sum * enough; n++) {
        term *= half / (a + n);
        sum += term;
    }
    return half > 0 ? sum * exp(-half + a * log(half) - lgamma(a)) : 0;
}

static double invert(double (*below)(double x, double degrees), double probability, double degrees,
                     double low, double high)
{
    for (int i = 0; i < MOST_HALVINGS && high - low > enough * fabs(high); i++) {
        const double middle = low + (high - low) / 2;
        if (below(middle, degrees) < probability)
            low = middle;
        else
            high = middle;
    }
    return low + (high - low) / 2;
}

double student_quantile(double probability, double degrees)
{
    if (probability < 0.5)
        return -student_quantile(1 - probability, degrees);
    double high = 1;
    while (student(high, degrees) < probability && high < 1e12)
        high *= 2;
    return invert(student, probability, degrees, 0, high);
}

double chi_square_quantile(double probability, double degrees)
{
    double high = degrees + 1;
    while (chi_square(high, degrees) < probability && high < 1e12)
        high *= 2;
    return invert(chi_square, probability, degrees, 0, high);
}
