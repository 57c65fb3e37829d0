// SPDX-License-Identifier: Apache-2.0
// Growing the histogram by whole octaves, and reading quantiles off it.
#include "actions/py_histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OCTAVE 16u

int py_histogram_grow(struct py_histogram *histogram, uint32_t class)
{
    uint32_t first = class & ~(OCTAVE - 1), end = first + OCTAVE;
    if (histogram->room) {
        uint32_t old_end = histogram->first + histogram->room;
        first = first < histogram->first ? first : histogram->first;
        end = end > old_end ? end : old_end;
    }
    uint32_t *counts = calloc(end - first, sizeof *counts);
    if (!counts)
        return -1;
    if (histogram->room)
        memcpy(counts + (histogram->first - first), histogram->counts,
               histogram->room * sizeof *counts);
    free(histogram->counts);
    histogram->counts = counts;
    histogram->first = first;
    histogram->room = end - first;
    return 0;
}

static double middle_of(uint32_t class)
{
    if (class < OCTAVE)
        return class;
    int shift = (int)(class >> 4) - 1;
    return ldexp((double)(OCTAVE + (class & (OCTAVE - 1))) + 0.5, shift);
}

double py_histogram_quantile(const struct py_histogram *histogram, double share)
{
    uint64_t total = 0, seen = 0;
    for (uint32_t i = 0; i < histogram->room; i++)
        total += histogram->counts[i];
    if (!total)
        return 0.0;
    uint64_t rank = (uint64_t)ceil(share * (double)total);
    for (uint32_t i = 0; i < histogram->room; i++) {
        seen += histogram->counts[i];
        if (seen >= rank && histogram->counts[i])
            return middle_of(histogram->first + i);
    }
    return middle_of(histogram->first + histogram->room - 1);
}

void py_histogram_finish(struct py_histogram *histogram)
{
    free(histogram->counts);
    histogram->counts = NULL;
    histogram->room = 0;
}
