// SPDX-License-Identifier: Apache-2.0
#include "analyse/device/device_fill.h"

#include <string.h>

void device_fill_finish(struct device_fill *fill)
{
    min_heap_finish(&fill->running);
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

static double blocks_of(uint64_t bits)
{
    double blocks;
    memcpy(&blocks, &bits, sizeof blocks);
    return blocks;
}

static void end_first(struct device_fill *fill)
{
    const double blocks = blocks_of(min_heap_take(&fill->running).value);
    fill->blocks = fill->running.count ? fill->blocks - blocks : 0; // no rest of rounding
}

void device_fill_until(struct device_fill *fill, int64_t at_ns)
{
    while (fill->running.count && fill->running.pairs[0].key <= at_ns) {
        pass(fill, fill->running.pairs[0].key);
        end_first(fill);
    }
    if (at_ns > fill->now_ns)
        pass(fill, at_ns);
}

int device_fill_add(struct device_fill *fill, const struct fill_kernel *kernel)
{
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
    uint64_t bits;
    memcpy(&bits, &kernel->blocks, sizeof bits);
    fill->blocks += kernel->blocks;
    return min_heap_put(&fill->running, kernel->end_ns, bits);
}
