// SPDX-License-Identifier: Apache-2.0
// Laws of scaling: parameters come back from costs that were worked out with the law.
#include "analyse/scale/scale_fit.h"

#include <math.h>

#include "support/tap.h"

enum { SIZES = 11 };

// Amdahl as it is written: the speedup is 1 / (s + (1 - s) / n).
static void by_amdahl(struct scale_cost *costs, double one_s, double serial)
{
    for (int i = 0; i < SIZES; i++) {
        const double n = pow(2, i);
        costs[i] = (struct scale_cost){n, n * one_s * (serial + (1 - serial) / n)};
    }
}

// The USL as it is written: throughput is n / (1 + s (n - 1) + k n (n - 1)).
static void by_usl(struct scale_cost *costs, double one_s, double serial, double coherency)
{
    for (int i = 0; i < SIZES; i++) {
        const double n = pow(2, i);
        const double throughput = n / (1 + serial * (n - 1) + coherency * n * (n - 1)) / one_s;
        costs[i] = (struct scale_cost){n, n / throughput};
    }
}

static bool is_near(double value, double wanted)
{
    return fabs(value - wanted) < 1e-9;
}

TEST("scale fit: Amdahl's serial fraction comes back, of 1 to 1024 workers")
{
    static const double fractions[] = {0, 1e-4, 0.037, 0.5, 1};
    struct scale_cost costs[SIZES];
    for (size_t i = 0; i < sizeof fractions / sizeof fractions[0]; i++) {
        by_amdahl(costs, 12.5, fractions[i]);
        const struct scale_fit fit = scale_fit_amdahl(costs, SIZES);
        ok(fit.is_known);
        ok(is_near(fit.serial, fractions[i]));
        ok(fabs(fit.one / 12.5 - 1) < 1e-9);
        ok(fit.error < 1e-9);
    }
}

TEST("scale fit: Amdahl without the run of one worker, and of two sizes alone")
{
    struct scale_cost costs[SIZES];
    by_amdahl(costs, 3, 0.12);
    ok(is_near(scale_fit_amdahl(costs + 3, SIZES - 3).serial, 0.12));
    ok(is_near(scale_fit_amdahl(costs + 1, 2).serial, 0.12));
}

TEST("scale fit: both parameters of the USL come back, and where it peaks")
{
    static const double serials[] = {0, 0.02, 0.3}, coherencies[] = {0, 1e-6, 5e-4, 0.01};
    struct scale_cost costs[SIZES];
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < 4; k++) {
            by_usl(costs, 0.8, serials[i], coherencies[k]);
            const struct scale_fit fit = scale_fit_usl(costs, SIZES);
            ok(fit.is_known);
            ok(is_near(fit.serial, serials[i]));
            ok(is_near(fit.coherency, coherencies[k]));
        }
    }
    by_usl(costs, 1, 0.19, 0.01);
    const struct scale_fit fit = scale_fit_usl(costs, SIZES);
    ok(fabs(scale_fit_peak(&fit) - 9) < 1e-6); // sqrt(0.81 / 0.01)
}

TEST("scale fit: parameters are not below 0, also of trainings that gain more than workers")
{
    struct scale_cost costs[] = {{1, 10}, {2, 9}, {4, 8}, {8, 7.5}};
    const struct scale_fit amdahl = scale_fit_amdahl(costs, 4), usl = scale_fit_usl(costs, 4);
    ok(amdahl.is_known && amdahl.serial == 0);
    ok(usl.is_known && usl.serial >= 0 && usl.coherency >= 0);
    const struct scale_cost slower[] = {{1, 1}, {2, 5}};
    const struct scale_fit all = scale_fit_amdahl(slower, 2); // five times the cost of one
    ok(all.is_known && all.serial == 1 && all.error > 0.1);
}

TEST("scale fit: too few sizes, or costs that are none, have no fit")
{
    struct scale_cost one[] = {{4, 10}, {4, 11}, {4, 12}}, zero[] = {{1, 0}, {2, 1}, {4, 1}};
    ok(!scale_fit_amdahl(one, 3).is_known);
    ok(!scale_fit_usl(one, 2).is_known);
    ok(!scale_fit_usl((struct scale_cost[]){{1, 1}, {2, 1.1}}, 2).is_known);
    ok(!scale_fit_amdahl(zero, 3).is_known);
    ok(!scale_fit_amdahl(zero, 0).is_known);
}
