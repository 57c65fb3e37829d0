// SPDX-License-Identifier: Apache-2.0
// The exact sum of any doubles in bounded memory: the sum that math.fsum()
// gives, without keeping the numbers.
#ifndef GAIT_PY_SUMS_H
#define GAIT_PY_SUMS_H

#include <stddef.h>

// Partial sums that do not overlap. Of doubles (2098 bits from the smallest to
// the largest, 53 each) there can be no more than 40 of them; most sums have 2.
#define PY_SUMS_MAX 44
struct py_sums {
    double *partials;
    size_t count, room;
    double special; // what infinities and NaNs add up to, 0 without any
    int is_special;
};

// -1 when there is no memory: then nothing was added.
int py_sums_add(struct py_sums *sums, double number);

// The sum, rounded once: half to even.
double py_sums_total(const struct py_sums *sums);
void py_sums_finish(struct py_sums *sums);

#endif
