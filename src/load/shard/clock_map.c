// SPDX-License-Identifier: Apache-2.0
// From ticks to nanoseconds. A 128-bit division a row would cost 10 ns; here
// rise / run is a fixed-point number with 64 bits behind the point, which is
// exact except where the discarded rest may carry: there, and only there, the
// division is done.
#include "load/shard/clock_map.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/fail.h"
#include "base/invariant.h"

#define CLOSEST_ANCHORS_NS 50000000u // docs/FORMAT.md section 5
#define ANCHOR_LIMIT (16u << 20)

typedef unsigned __int128 uint128;

int clock_map_add(struct clock_map *map, const struct clock_point *anchor)
{
    return ARRAY_ADD(map->anchors, map->anchor_count, map->anchor_capacity, ANCHOR_LIMIT, anchor);
}

void clock_map_finish(struct clock_map *map)
{
    if (!map)
        return;
    free(map->anchors);
    free(map->segments);
    *map = (struct clock_map){0};
}

// Keeps the anchors that go forward, at least 50 ms apart (the last one always)
// and whose time fits; returns how many they are.
static size_t choose_anchors(struct clock_point *anchors, size_t count)
{
    size_t kept = 0;
    size_t last = 0; // of those that go forward

    for (size_t i = 1; i < count; i++) {
        __int128 real = (__int128)anchors[i].raw_ns - anchors[0].raw_ns + anchors[0].real_ns;

        if (anchors[i].tick <= anchors[last].tick || anchors[i].raw_ns <= anchors[last].raw_ns ||
            real > INT64_MAX)
            continue;
        // `kept` never passes `last`, so nothing still needed is overwritten
        if ((uint64_t)anchors[last].raw_ns - (uint64_t)anchors[kept].raw_ns >= CLOSEST_ANCHORS_NS)
            anchors[++kept] = anchors[last];
        last = i;
    }
    if (last > 0 && anchors[last].tick > anchors[kept].tick)
        anchors[++kept] = anchors[last];
    return count ? kept + 1 : 0;
}

static void set_slope(struct clock_segment *segment, uint64_t rise, uint64_t run)
{
    GAIT_ASSERT(run > 0); // anchors that do not go forward were left out
    segment->rise = rise;
    segment->run = run;
    segment->whole = rise / run;
    segment->part = (uint64_t)(((uint128)(rise % run) << 64) / run);
}

// How far the last segment reaches before its ticks or times leave 64 bits.
// Never so far that a tick before the segment, wrapped, would fall into it.
static uint64_t reach(const struct clock_segment *segment)
{
    uint64_t room = (uint64_t)INT64_MAX - (uint64_t)segment->base_ns;
    GAIT_ASSERT(segment->rise > 0);
    uint128 ticks = (uint128)room * segment->run / segment->rise;
    uint64_t most = UINT64_MAX - segment->tick;

    return ticks < most ? (uint64_t)ticks : most;
}

int clock_map_build(struct clock_map *map, uint64_t tick_hz)
{
    const struct clock_point *anchors = map->anchors;
    size_t count = choose_anchors(map->anchors, map->anchor_count);
    struct clock_segment *segments;

    if (!count)
        return 0;
    segments = calloc(count, sizeof(*segments));
    if (!segments)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu clock anchors", count);
    set_slope(&segments[0], 1000000000, tick_hz ? tick_hz : 1000000000);
    for (size_t i = 0; i < count; i++) {
        struct clock_segment *segment = &segments[i];

        segment->tick = anchors[i].tick;
        segment->base_ns =
            (int64_t)((__int128)anchors[i].raw_ns - anchors[0].raw_ns + anchors[0].real_ns);
        if (i + 1 < count)
            set_slope(segment, (uint64_t)anchors[i + 1].raw_ns - (uint64_t)anchors[i].raw_ns,
                      anchors[i + 1].tick - anchors[i].tick);
        else if (i)
            set_slope(segment, segments[i - 1].rise, segments[i - 1].run);
        GAIT_ASSERT(!i || segment->tick > segments[i - 1].tick);
        segment->width = i + 1 < count ? segment->run : reach(segment);
    }
    free(map->segments);
    map->segments = segments;
    map->segment_count = count;
    free(map->anchors);
    map->anchors = NULL;
    map->anchor_count = map->anchor_capacity = 0;
    return 0;
}

static const struct clock_segment *find_segment(const struct clock_map *map, uint64_t tick)
{
    size_t low = 0;
    size_t high = map->segment_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (map->segments[middle].tick <= tick)
            low = middle;
        else
            high = middle;
    }
    GAIT_ASSERT(low < map->segment_count);
    return &map->segments[low];
}

int64_t clock_map_ns(const struct clock_map *map, uint64_t tick)
{
    uint128 steps;
    uint128 room;

    if (!map->segment_count)
        return tick > INT64_MAX ? INT64_MAX : (int64_t)tick;
    const struct clock_segment *segment = find_segment(map, tick);
    if (tick >= segment->tick) {
        room = (uint64_t)INT64_MAX - (uint64_t)segment->base_ns;
        steps = (uint128)(tick - segment->tick) * segment->rise / segment->run;
        return steps > room ? INT64_MAX : (int64_t)((uint64_t)segment->base_ns + (uint64_t)steps);
    }
    // before the first anchor: the floor of a negative number
    room = (uint64_t)segment->base_ns - (uint64_t)INT64_MIN;
    uint128 product = (uint128)(segment->tick - tick) * segment->rise;
    steps = product / segment->run + (product % segment->run != 0);
    return steps > room ? INT64_MIN : (int64_t)((uint64_t)segment->base_ns - (uint64_t)steps);
}

// One row within a segment's width.
static inline int64_t convert(const struct clock_segment *segment, uint64_t distance)
{
    uint128 scaled = (uint128)distance * segment->part;
    uint64_t steps = (uint64_t)(scaled >> 64);

    GAIT_ASSERT(distance < segment->width);
    // part / 2^64 falls short of the true ratio by less than 2^-64, so the true
    // product is less than `distance` above: a carry there decides
    if (__builtin_expect((uint64_t)scaled > UINT64_MAX - distance, 0))
        steps = (uint64_t)((uint128)distance * (segment->rise % segment->run) / segment->run);
    return (int64_t)((uint64_t)segment->base_ns + distance * segment->whole + steps);
}

static void copy_column(const uint64_t *ticks, size_t rows, int64_t *ret_ns)
{
    for (size_t i = 0; i < rows; i++)
        ret_ns[i] = ticks[i] > INT64_MAX ? INT64_MAX : (int64_t)ticks[i];
}

void clock_map_column(const struct clock_map *map, const uint64_t *ticks, size_t rows,
                      int64_t *ret_ns)
{
    if (!map->segment_count) {
        copy_column(ticks, rows, ret_ns);
        return;
    }
    for (size_t i = 0; i < rows;) {
        struct clock_segment segment = *find_segment(map, ticks[i]);
        if (ticks[i] - segment.tick >= segment.width) {
            ret_ns[i] = clock_map_ns(map, ticks[i]);
            i++;
        }
        for (; i < rows && ticks[i] - segment.tick < segment.width; i++)
            ret_ns[i] = convert(&segment, ticks[i] - segment.tick);
    }
}
