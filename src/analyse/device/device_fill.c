// SPDX-License-Identifier: Apache-2.0
#include "analyse/device/device_fill.h"

#include <stdlib.h>

#include "base/array.h"

enum { MOST_RUNNING = 1 << 24 };

void device_fill_finish(struct device_fill *fill)
{
    free(fill->running);
    *fill = (struct device_fill){.running = NULL};
}

static void pass(struct device_fill *fill, int64_t until_ns)
{
    const int64_t busy_ns = fill->busy_until_ns < until_ns ? fill->busy_until_ns : until_ns;
    if (busy_ns > fill->now_ns)
        fill->sums.busy_ns += busy_ns - fill->now_ns;
    if (fill->blocks > 0)
        fill->sums.blocks_ns +=
            (fill->blocks < 1 ? fill->blocks : 1) * (double)(until_ns - fill->now_ns);
    fill->now_ns = until_ns;
}

static void end_first(struct device_fill *fill)
{
    const struct fill_running last = fill->running[--fill->count];
    size_t at = 0;
    fill->blocks = fill->count ? fill->blocks - fill->running[0].blocks : 0; // no rest of rounding
    for (size_t child; (child = 2 * at + 1) < fill->count; at = child) {
        if (child + 1 < fill->count &&
            fill->running[child + 1].end_ns < fill->running[child].end_ns)
            child++;
        if (last.end_ns <= fill->running[child].end_ns)
            break;
        fill->running[at] = fill->running[child];
    }
    fill->running[at] = last;
}

void device_fill_until(struct device_fill *fill, int64_t at_ns)
{
    while (fill->count && fill->running[0].end_ns <= at_ns) {
        pass(fill, fill->running[0].end_ns);
        end_first(fill);
    }
    if (at_ns > fill->now_ns)
        pass(fill, at_ns);
}

int device_fill_add(struct device_fill *fill, const struct fill_kernel *kernel)
{
    const struct array_shape shape = {sizeof *fill->running, MOST_RUNNING};
    const double ns = (double)(kernel->end_ns - kernel->start_ns);
    device_fill_until(fill, kernel->start_ns);
    if (kernel->end_ns > fill->busy_until_ns)
        fill->busy_until_ns = kernel->end_ns;
    if (kernel->occupancy >= 0) {
        fill->sums.occupied += kernel->occupancy * ns;
        fill->sums.told_ns += ns;
    }
    if (!(kernel->blocks > 0) || kernel->end_ns <= kernel->start_ns)
        return GAIT_OK;
    size_t at = fill->count;
    const int status = array_reserve((void **)&fill->running, &fill->capacity, at + 1, shape);
    if (status)
        return status;
    fill->count++;
    fill->blocks += kernel->blocks;
    for (; at && kernel->end_ns < fill->running[(at - 1) / 2].end_ns; at = (at - 1) / 2)
        fill->running[at] = fill->running[(at - 1) / 2];
    fill->running[at] = (struct fill_running){kernel->end_ns, kernel->blocks};
    return GAIT_OK;
}
