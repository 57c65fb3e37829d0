// SPDX-License-Identifier: Apache-2.0
// How full one device is while its kernels come in order of start: the time with a kernel on
// it, how many of its multiprocessors have a block, and the occupancy that kernels tell. All
// of it is weighed as time passes: what lies outside of the time that is asked about counts
// nowhere.
#ifndef GAIT_ANALYSE_DEVICE_FILL_H
#define GAIT_ANALYSE_DEVICE_FILL_H

#include <stdint.h>

#include "base/index/min_heap.h"

struct fill_kernel {
    int64_t start_ns, end_ns;
    double blocks, occupancy; // by multiprocessor; in percent; NAN: not told
};

struct fill_sums {
    double busy_ns;
    double blocks_ns;         // of blocks by multiprocessor, at most one each
    double occupied, told_ns; // occupancy by kernels and time, and the kernels' time that tells it
};

// What those kernels tell that run now.
struct fill_level {
    struct min_heap running; // by their end; the value is a double's bits
    double sum;
};

struct device_fill {
    int32_t device;
    int64_t now_ns, busy_until_ns;
    struct fill_level blocks, occupancy;
    struct fill_sums sums; // until now
};

void device_fill_until(struct device_fill *fill, int64_t at_ns);
GAIT_CHECK int device_fill_add(struct device_fill *fill, const struct fill_kernel *kernel);
void device_fill_finish(struct device_fill *fill); // takes a zeroed struct

// Adds what is summed up so far.
void device_fill_show(const struct device_fill *fill, struct fill_sums *sums);

#endif
