// SPDX-License-Identifier: Apache-2.0
#include "analyse/device/device_fill.h"

#include <string.h>

void device_fill_finish(struct device_fill *fill)
{
    min_heap_finish(&fill->blocks.running);
    min_heap_finish(&fill->occupancy.running);
}

// Times may lie as far apart as no signed number tells.
static double length(int64_t from_ns, int64_t until_ns)
{
    return (double)((uint64_t)until_ns - (uint64_t)from_ns);
}

static void pass(struct device_fill *fill, int64_t until_ns)
{
    const double ns = length(fill->now_ns, until_ns);
    const int64_t busy_ns = fill->busy_until_ns < until_ns ? fill->busy_until_ns : until_ns;
    if (busy_ns > fill->now_ns)
        fill->sums.busy_ns += length(fill->now_ns, busy_ns);
    if (fill->blocks.sum > 0)
        fill->sums.blocks_ns += (fill->blocks.sum < 1 ? fill->blocks.sum : 1) * ns;
    fill->sums.occupied += fill->occupancy.sum * ns;
    fill->sums.told_ns += (double)fill->occupancy.running.count * ns;
    fill->now_ns = until_ns;
}

static int64_t next_end(const struct fill_level *level)
{
    return level->running.count ? level->running.pairs[0].key : INT64_MAX;
}

static void leave_ended(struct fill_level *level, int64_t at_ns)
{
    while (level->running.count && level->running.pairs[0].key <= at_ns) {
        const uint64_t bits = min_heap_take(&level->running).value;
        double told;
        memcpy(&told, &bits, sizeof told);
        level->sum = level->running.count ? level->sum - told : 0; // no rest of rounding
    }
}

void device_fill_until(struct device_fill *fill, int64_t at_ns)
{
    while (fill->now_ns < at_ns) {
        const int64_t blocks_ns = next_end(&fill->blocks), told_ns = next_end(&fill->occupancy);
        int64_t end_ns = blocks_ns < told_ns ? blocks_ns : told_ns;
        end_ns = end_ns < at_ns ? end_ns : at_ns;
        pass(fill, end_ns);
        leave_ended(&fill->blocks, end_ns);
        leave_ended(&fill->occupancy, end_ns);
    }
}

static int enter(struct fill_level *level, int64_t end_ns, double told)
{
    uint64_t bits;
    memcpy(&bits, &told, sizeof bits);
    level->sum += told;
    return min_heap_put(&level->running, end_ns, bits);
}

int device_fill_add(struct device_fill *fill, const struct fill_kernel *kernel)
{
    int status = GAIT_OK;
    device_fill_until(fill, kernel->start_ns);
    if (kernel->end_ns <= kernel->start_ns)
        return GAIT_OK;
    if (kernel->end_ns > fill->busy_until_ns)
        fill->busy_until_ns = kernel->end_ns;
    if (kernel->blocks > 0)
        status = enter(&fill->blocks, kernel->end_ns, kernel->blocks);
    if (!status && kernel->occupancy >= 0)
        status = enter(&fill->occupancy, kernel->end_ns, kernel->occupancy);
    return status;
}

void device_fill_show(const struct device_fill *fill, struct fill_sums *sums)
{
    sums->busy_ns += fill->sums.busy_ns;
    sums->blocks_ns += fill->sums.blocks_ns;
    sums->occupied += fill->sums.occupied;
    sums->told_ns += fill->sums.told_ns;
}
