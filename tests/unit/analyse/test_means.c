// SPDX-License-Identifier: Apache-2.0
// Quantiles against printed tables, and what comparisons promise against simulated runs.
#include "analyse/compare/means.h"

#include <math.h>

#include "analyse/compare/student.h"
#include "support/tap.h"

static bool is_near(double got, double wanted)
{
    return fabs(got - wanted) <= 5e-4 * (1 + fabs(wanted));
}

TEST("means: quantiles are those of printed tables")
{
    // two-sided 95 % of Student's t
    ok(is_near(student_quantile(0.975, 1), 12.706));
    ok(is_near(student_quantile(0.975, 2), 4.303));
    ok(is_near(student_quantile(0.975, 10), 2.228));
    ok(is_near(student_quantile(0.975, 30), 2.042));
    ok(is_near(student_quantile(0.9, 5), 1.476));
    ok(is_near(student_quantile(0.025, 10), -2.228));
    ok(is_near(student_quantile(0.975, 1e6), 1.960));
    ok(is_near(chi_square_quantile(0.1, 2), 0.2107));
    ok(is_near(chi_square_quantile(0.1, 10), 4.865));
    ok(is_near(chi_square_quantile(0.95, 4), 9.488));
    ok(is_near(chi_square_quantile(0.5, 100), 99.334));
}

TEST("means: a worked example of Welch's test")
{
    const double a[] = {10, 12, 11, 13}, b[] = {14, 15, 13};
    const struct sample samples[] = {{a, 4}, {b, 3}};
    const struct means means = means_compare(&samples[0], &samples[1]);
    ok(means.is_known && means.has_interval);
    ok(is_near(means.a, 11.5));
    ok(is_near(means.difference, 14 / 11.5 - 1));
    // s^2/n: 5/3/4 and 1/3; df = 0.75^2 / (0.41667^2/3 + 0.33333^2/2) = 4.959; t = 2.5760
    const double half = 2.5760 * sqrt(0.75) / 11.5;
    ok(is_near(means.low, means.difference - half));
    ok(is_near(means.high, means.difference + half));
}

TEST("means: one repeat has no interval, nothing has no difference")
{
    const double a[] = {10}, b[] = {11, 12};
    const struct sample one = {a, 1}, two = {b, 2}, none = {a, 0};
    struct means means = means_compare(&one, &two);
    ok(means.is_known && !means.has_interval);
    is_u64(means_repeats(&means, 0.03), 0);
    means = means_compare(&none, &two);
    ok(!means.is_known);
}

// --- simulated runs -----------------------------------------------------------------------

static uint64_t state;

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

static struct means draw(double *room, size_t repeats, double slower)
{
    for (size_t i = 0; i < repeats; i++) {
        room[i] = 100 * (1 + 0.02 * normal());
        room[repeats + i] = 100 * (1 + slower) * (1 + 0.02 * normal());
    }
    const struct sample a = {room, repeats}, b = {room + repeats, repeats};
    return means_compare(&a, &b);
}

TEST("means: of 1,000 equal pairs no more than the stated level are called different")
{
    enum { PAIRS = 1000 };
    static double room[200];
    state = 88172645463325252u;
    for (size_t repeats = 2; repeats <= 8; repeats += 3) {
        unsigned alarms = 0;
        for (unsigned i = 0; i < PAIRS; i++) {
            const struct means means = draw(room, repeats, 0);
            alarms += means.low > 0 || means.high < 0;
        }
        ok(alarms <= 50 + 21); // 5 %, and three deviations of a count of 1,000
    }
}

TEST("means: the repeats it asks for find 3 % nine times of ten")
{
    enum { PILOTS = 60, PAIRS = 40 };
    static double room[2 * MEANS_MOST];
    unsigned found = 0, tried = 0;
    state = 88172645463325252u;
    for (unsigned pilot = 0; pilot < PILOTS; pilot++) {
        const struct means first = draw(room, 5, 0);
        const size_t repeats = means_repeats(&first, 0.03);
        if (!repeats)
            continue;
        for (unsigned i = 0; i < PAIRS; i++, tried++)
            found += draw(room, repeats, 0.03).low > 0;
    }
    ok(tried >= PILOTS * PAIRS * 9 / 10);
    ok(found >= tried * 9 / 10);
}
