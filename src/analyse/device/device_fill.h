// SPDX-License-Identifier: Apache-2.0
// How full one device is while its kernels come in order of start: the time with a kernel on
// it, how many of its multiprocessors have a block, and the occupancy that kernels tell.
#ifndef GAIT_ANALYSE_DEVICE_FILL_H
#define GAIT_ANALYSE_DEVICE_FILL_H

#include <stdint.h>

#include "base/index/min_heap.h"

struct fill_kernel {
    int64_t start_ns, end_ns;
    double blocks, occupancy; // by multiprocessor; in percent; NAN: not told
};

struct fill_sums {
    int64_t busy_ns;
    double blocks_ns;         // of blocks by multiprocessor, at most one each
    double occupied, told_ns; // occupancy by time, and the time of which it is told
};

struct device_fill {
    int32_t device;
    int64_t now_ns, busy_until_ns;
    double blocks;           // that are there now
    struct min_heap running; // what tells blocks, by its end; the value is a double's bits
    struct fill_sums sums;   // until now
};

void device_fill_until(struct device_fill *fill, int64_t at_ns);
GAIT_CHECK int device_fill_add(struct device_fill *fill, const struct fill_kernel *kernel);
void device_fill_finish(struct device_fill *fill); // takes a zeroed struct

#endif
