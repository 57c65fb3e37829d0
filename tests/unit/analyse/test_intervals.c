// SPDX-License-Identifier: Apache-2.0
// Sets of times, beside a map of 64 moments with a bit for each.
// GAIT_TEST_FULL=1 tries a million of random cases.
#include "analyse/time/intervals.h"
#include "support/random_values.h"
#include "support/tap.h"

enum { MOMENTS = 64, MOST_ROWS = 9 };

static struct random_values values = {88172645463325252u};
static const int64_t origin = -20; // so that both signs come

static uint64_t bits(int64_t start, int64_t end)
{
    uint64_t map = 0;
    for (int64_t at = start; at < end; at++)
        map |= (uint64_t)1 << (at - origin);
    return map;
}

static struct interval random_interval(void)
{
    const int64_t a = (int64_t)random_below(&values, MOMENTS + 1),
                  b = (int64_t)random_below(&values, MOMENTS + 1);
    return (struct interval){origin + (a < b ? a : b), origin + (a < b ? b : a)};
}

static uint64_t random_set(struct intervals *set)
{
    uint64_t map = 0;
    set->count = 0;
    for (uint64_t left = random_below(&values, MOST_ROWS); left; left--) {
        struct interval row = random_interval();
        if (random_below(&values, 2)) // short ones, or all is covered soon
            row.end_ns = row.start_ns + (row.end_ns - row.start_ns) / 8;
        map |= bits(row.start_ns, row.end_ns);
        const int status = random_below(&values, 2)
                               ? intervals_add(set, row.start_ns, row.end_ns)
                               : intervals_widen(set, row.start_ns, row.end_ns);
        if (status)
            ok(!"memory");
    }
    intervals_join(set);
    return map;
}

static bool is_joined(const struct intervals *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->rows[i].start_ns >= set->rows[i].end_ns ||
            (i && set->rows[i].start_ns <= set->rows[i - 1].end_ns))
            return false;
    return true;
}

static uint64_t map_of(const struct intervals *set)
{
    uint64_t map = 0;
    for (size_t i = 0; i < set->count; i++)
        map |= bits(set->rows[i].start_ns, set->rows[i].end_ns);
    return is_joined(set) ? map : ~(uint64_t)0;
}

static unsigned case_count(void)
{
    const char *full = getenv("GAIT_TEST_FULL");
    return full && *full == '1' ? 1000000 : 20000;
}

TEST("intervals: rows that lie in the one before them take no room")
{
    struct intervals set = {.count = 0};
    ok(!intervals_widen(&set, 10, 20) && !intervals_widen(&set, 12, 15) &&
       !intervals_widen(&set, 20, 30) && !intervals_widen(&set, 5, 8));
    if (is_u64(set.count, 2))
        ok(set.rows[0].start_ns == 10 && set.rows[0].end_ns == 30 && set.rows[1].start_ns == 5);
    intervals_finish(&set);
}

TEST("intervals: sets are what a map of the moments says")
{
    struct intervals set = {.count = 0}, other = {.count = 0}, rest = {.count = 0};
    unsigned wrong = 0;
    for (unsigned i = case_count(); i; i--) {
        const uint64_t map = random_set(&set), minus = random_set(&other);
        const int64_t at = origin + (int64_t)random_below(&values, MOMENTS);
        const struct interval window = random_interval();
        wrong += map_of(&set) != map;
        wrong += intervals_total(&set) != (uint64_t)__builtin_popcountll(map);
        wrong += intervals_cover(&set, at) != (map >> (at - origin) & 1);
        rest.count = 0;
        wrong += intervals_subtract(&rest, &set, &other) != GAIT_OK;
        wrong += map_of(&rest) != (map & ~minus);
        intervals_cut(&set, window.start_ns, window.end_ns);
        wrong += map_of(&set) != (map & bits(window.start_ns, window.end_ns));
    }
    is_u64(wrong, 0);
    intervals_finish(&set);
    intervals_finish(&other);
    intervals_finish(&rest);
}

TEST("intervals: many in any order are joined as few are")
{
    enum { ROWS = 20000 };
    struct intervals set = {.count = 0};
    for (int64_t i = 0; i < ROWS; i++) { // 7 is no factor of the number: each place once
        const int64_t place = (i * 7 % ROWS) * 1000000007;
        ok(!intervals_add(&set, place, place + (place % 3 ? 5 : 1000000007)));
    }
    intervals_join(&set);
    ok(is_joined(&set));
    size_t apart = 1; // one that reaches the next makes one of two
    for (int64_t i = 1; i < ROWS; i++)
        apart += (i - 1) * 1000000007 % 3 != 0;
    is_u64(set.count, apart);
    is_int(set.rows[0].start_ns, 0);
    intervals_finish(&set);
}

TEST("intervals: the ends of all time")
{
    struct intervals set = {.count = 0};
    ok(!intervals_add(&set, INT64_MIN, -5));
    ok(!intervals_add(&set, 5, INT64_MAX));
    ok(!intervals_add(&set, 3, 3));
    ok(!intervals_add(&set, 3, 2));
    intervals_join(&set);
    is_u64(set.count, 2);
    ok(intervals_cover(&set, INT64_MIN) && intervals_cover(&set, INT64_MAX - 1));
    ok(!intervals_cover(&set, INT64_MAX) && !intervals_cover(&set, -5));
    is_u64(intervals_total(&set), UINT64_MAX - 10);
    intervals_finish(&set);
}
