// SPDX-License-Identifier: Apache-2.0
// Ticks to nanoseconds, against the definition in docs/FORMAT.md section 5
// worked out the slow way, and under anchors that make no sense.
#include "load/shard/clock_map.h"

#include "support/tap.h"

typedef __int128 wide;

struct anchor {
    uint64_t tick;
    int64_t raw, real;
};

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static wide floor_div(wide a, wide b)
{
    return a / b - (a % b != 0 && a < 0);
}

// The definition: which anchors count, then interpolation between two of them.
static int64_t define_ns(const struct anchor *all, size_t count, uint64_t tick)
{
    struct anchor kept[64];
    size_t n = 1;
    size_t i = 0;
    wide ns;

    kept[0] = all[0];
    for (size_t k = 1; k < count; k++)
        if (all[k].raw - kept[n - 1].raw >= 50000000 || k + 1 == count)
            kept[n++] = all[k];
    while (i + 2 < n && kept[i + 1].tick <= tick)
        i++;
    ns = (wide)((wide)tick - kept[i].tick) * (kept[i + 1].raw - kept[i].raw);
    ns = floor_div(ns, (wide)(kept[i + 1].tick - kept[i].tick)) + kept[i].raw;
    return (int64_t)(ns + kept[0].real - kept[0].raw);
}

static void add_all(struct clock_map *map, const struct anchor *anchors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ok(!clock_map_add(map,
                          &(struct clock_point){anchors[i].tick, anchors[i].raw, anchors[i].real}));
    ok(!clock_map_build(map, 0));
}

// Anchors of a clock of some gigahertz, 10 to 200 ms apart, with noise, and a
// wall clock that jumps.
static size_t make_anchors(struct anchor *anchors, uint64_t scale)
{
    size_t count = 2 + next_random() % 60;
    uint64_t tick = next_random() % 1000000000000u;
    int64_t raw = (int64_t)(next_random() % 1000000000000u);

    for (size_t i = 0; i < count; i++) {
        uint64_t step = 10000000 + next_random() % 190000000;

        anchors[i] = (struct anchor){
            tick, raw, raw + 1700000000000000000 + (int64_t)(next_random() % 1000000000)};
        tick += step * scale / 1000 + next_random() % 1000;
        raw += (int64_t)step;
    }
    return count;
}

TEST("clock_map: column and single conversion agree with the definition to the last bit")
{
    static const uint64_t scales[] = {24, 1000, 2300, 5000}; // ticks a µs
    uint64_t wrong = 0, backwards = 0;
    static uint64_t ticks[4096];
    static int64_t ns[4096];

    for (int round = 0; round < 200; round++) {
        struct anchor anchors[64];
        size_t count = make_anchors(anchors, scales[round % 4]);
        uint64_t first = anchors[0].tick;
        uint64_t span = anchors[count - 1].tick - first;
        struct clock_map map = {0};

        add_all(&map, anchors, count);
        for (size_t i = 0; i < 4096; i++)
            ticks[i] = first - first / 8 +
                       (uint64_t)((wide)(span + span / 2 + first / 4) * (wide)i / 4096);
        for (size_t i = 0; i < count; i++) // and the corners
            ticks[i * 7] = anchors[i].tick + next_random() % 3 - 1;
        clock_map_column(&map, ticks, 4096, ns);
        for (size_t i = 0; i < 4096; i++) {
            wrong += ns[i] != define_ns(anchors, count, ticks[i]);
            wrong += ns[i] != clock_map_ns(&map, ticks[i]);
        }
        for (size_t i = 0; i < 4096; i++)
            backwards += clock_map_ns(&map, ticks[i] + 1) < clock_map_ns(&map, ticks[i]);
        clock_map_finish(&map);
    }
    is_u64(wrong, 0);
    is_u64(backwards, 0);
}

TEST("clock_map: with one anchor the tick rate gives the slope")
{
    struct clock_map map = {0};

    ok(!clock_map_add(&map, &(struct clock_point){1000, 5, 1000000000000}));
    ok(!clock_map_build(&map, 2000000000));
    is_int(clock_map_ns(&map, 1000), 1000000000000);
    is_int(clock_map_ns(&map, 3001), 1000000001000);
    is_int(clock_map_ns(&map, 999), 999999999999);
    clock_map_finish(&map);
}

TEST("clock_map: without anchors ticks are nanoseconds")
{
    struct clock_map map = {0};
    uint64_t ticks[2] = {42, UINT64_MAX};
    int64_t ns[2];

    ok(!clock_map_build(&map, 0));
    clock_map_column(&map, ticks, 2, ns);
    is_int(ns[0], 42);
    is_int(ns[1], INT64_MAX);
    clock_map_finish(&map);
}

TEST("clock_map: a step of the wall clock between anchors moves nothing")
{
    const struct anchor anchors[] = {{0, 0, 1000}, {100000000, 100000000, 9000000100001000}};
    struct clock_map map = {0};

    add_all(&map, anchors, 2);
    is_int(clock_map_ns(&map, 50000000), 50001000);
    clock_map_finish(&map);
}

TEST("clock_map: anchors that go back or stand still are ignored")
{
    const struct anchor anchors[] = {{1000, 1000, 0},
                                     {100001000, 500, 0},        // back in time
                                     {900, 100001000, 0},        // back in ticks
                                     {1000, 300001000, 0},       // no ticks passed
                                     {100001000, 100001000, 0}}; // right
    struct clock_map map = {0};

    add_all(&map, anchors, 5);
    is_u64(map.segment_count, 2);
    is_int(clock_map_ns(&map, 50001000), 50000000);
    clock_map_finish(&map);
}

TEST("clock_map: nothing a file can say makes time go backwards or overflow")
{
    uint64_t backwards = 0, different = 0;

    for (int round = 0; round < 2000; round++) {
        struct clock_map map = {0};
        uint64_t ticks[64];
        int64_t ns[64];

        for (int i = 0; i < 6; i++) {
            unsigned shift = next_random() % 64;
            struct clock_point point = {next_random() >> shift, (int64_t)(next_random() >> shift),
                                        (int64_t)next_random()};

            ok(!clock_map_add(&map, &point));
        }
        ok(!clock_map_build(&map, next_random() >> next_random() % 64));
        ticks[0] = 0;
        for (int i = 1; i < 64; i++)
            ticks[i] = ticks[i - 1] + (next_random() >> (6 + next_random() % 58));
        ticks[63] = UINT64_MAX;
        clock_map_column(&map, ticks, 64, ns);
        for (int i = 0; i < 64; i++)
            different += ns[i] != clock_map_ns(&map, ticks[i]);
        for (int i = 1; i < 64; i++)
            backwards += ticks[i] >= ticks[i - 1] && ns[i] < ns[i - 1];
        clock_map_finish(&map);
    }
    is_u64(different, 0);
    is_u64(backwards, 0);
}
