// SPDX-License-Identifier: Apache-2.0
// Laws of scaling, fitted to what a unit of work costs at so many workers. Pure.
//
// With the cost in workers times seconds, both laws are linear in their parameters:
// cost(N) = one * (1 + serial (N - 1) + coherency N (N - 1)). Amdahl's has no coherency; Gunther's
// universal scalability law (USL) has both, and calls the first one contention.
#ifndef GAIT_ANALYSE_SCALE_FIT_H
#define GAIT_ANALYSE_SCALE_FIT_H

#include <stdbool.h>
#include <stddef.h>

struct scale_cost {
    double workers, cost;
};

struct scale_fit {
    bool is_known;            // there are as many sizes as parameters, at least two
    double one;               // cost with one worker
    double serial, coherency; // not below 0
    double error;             // the largest deviation of a cost, as a part of it
};

struct scale_fit scale_fit_amdahl(const struct scale_cost *costs, size_t count);
struct scale_fit scale_fit_usl(const struct scale_cost *costs, size_t count);

// How many workers do most in a time; 0: more always do more.
double scale_fit_peak(const struct scale_fit *fit);

#endif
