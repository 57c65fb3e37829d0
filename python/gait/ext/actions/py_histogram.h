// SPDX-License-Identifier: Apache-2.0
// How often which length was seen, in 16 classes an octave: a quantile is true
// to 3 %. Memory grows with the octaves that occur, not with the numbers.
#ifndef GAIT_PY_HISTOGRAM_H
#define GAIT_PY_HISTOGRAM_H

#include <stdint.h>

struct py_histogram {
    uint32_t *counts; // of the classes from `first` on
    uint32_t first, room;
};

// Which class a number belongs to.
static inline uint32_t py_histogram_class(uint64_t number)
{
    if (number < 16)
        return (uint32_t)number;
    uint32_t exponent = 63u - (uint32_t)__builtin_clzll(number);
    return ((exponent - 3) << 4) + (uint32_t)((number >> (exponent - 4)) & 15);
}

// Makes room for a class; -1 when there is no memory.
int py_histogram_grow(struct py_histogram *histogram, uint32_t class);

// A count that cannot grow any more stays; without memory the number is not
// counted here.
static inline void py_histogram_add(struct py_histogram *histogram, uint64_t number)
{
    uint32_t class = py_histogram_class(number);
    if (__builtin_expect(class - histogram->first >= histogram->room, 0) &&
        py_histogram_grow(histogram, class))
        return;
    uint32_t *count = &histogram->counts[class - histogram->first];
    *count += *count != UINT32_MAX;
}

// The number that a share (0 to 1) of all do not exceed: the middle of its class.
double py_histogram_quantile(const struct py_histogram *histogram, double share);
void py_histogram_finish(struct py_histogram *histogram);

#endif
