// SPDX-License-Identifier: Apache-2.0
// Shewchuk's expansions ("Adaptive Precision Floating-Point Arithmetic", 1997):
// a new number passes through all partial sums, each step of it exact.
#include "actions/py_sums.h"

#include <math.h>
#include <stdlib.h>

static int make_room(struct py_sums *sums)
{
    if (sums->count < sums->room)
        return 0;
    size_t room = sums->room ? PY_SUMS_MAX : 4;
    double *partials = realloc(sums->partials, room * sizeof *partials);
    if (!partials)
        return -1;
    sums->partials = partials;
    sums->room = room;
    return 0;
}

static void add_special(struct py_sums *sums, double number)
{
    sums->special += number; // inf - inf is NaN
    sums->is_special = 1;
}

int py_sums_add(struct py_sums *sums, double number)
{
    if (make_room(sums))
        return -1;
    if (!isfinite(number)) {
        add_special(sums, number);
        return 0;
    }
    size_t kept = 0;
    for (size_t i = 0; i < sums->count; i++) {
        double large = sums->partials[i];
        if (fabs(number) > fabs(large)) {
            double swapped = number;
            number = large;
            large = swapped;
        }
        double high = large + number;
        double low = number - (high - large);
        if (low != 0.0)
            sums->partials[kept++] = low;
        number = high;
    }
    if (!isfinite(number)) { // finite numbers whose sum is not
        add_special(sums, number);
        sums->count = 0;
        return 0;
    }
    sums->partials[kept++] = number;
    sums->count = kept;
    return 0;
}

double py_sums_total(const struct py_sums *sums)
{
    if (sums->is_special)
        return sums->special;
    size_t left = sums->count;
    if (!left)
        return 0.0;
    double high = sums->partials[--left], low = 0.0;
    while (left && low == 0.0) {
        double large = high, small = sums->partials[--left];
        high = large + small;
        low = small - (high - large);
    }
    // exactly between two doubles: what lies below decides
    if (left && ((low < 0.0 && sums->partials[left - 1] < 0.0) ||
                 (low > 0.0 && sums->partials[left - 1] > 0.0))) {
        double twice = low * 2.0, rounded = high + twice;
        if (rounded - high == twice)
            high = rounded;
    }
    return high;
}

void py_sums_finish(struct py_sums *sums)
{
    free(sums->partials);
    sums->partials = NULL;
    sums->count = sums->room = 0;
}
