// SPDX-License-Identifier: Apache-2.0
#include "analyse/ledger/phase_times.h"
#include "support/tap.h"

static uint64_t hit(int64_t start_ns, int64_t end_ns, uint64_t count)
{
    struct interval rows[] = {{100, 200}, {300, 301}, {1000, INT64_MAX}};
    const struct intervals periods = {.rows = rows, .count = 3};
    const struct phase_looks looks = {start_ns, end_ns, count};
    return phase_times_hit(&periods, &looks);
}

TEST("phase_times: looks count where they fell, a period's end is outside")
{
    is_u64(hit(100, 100, 1), 1);
    is_u64(hit(200, 200, 1), 0);
    is_u64(hit(99, 99, 7), 0);
    is_u64(hit(150, 150, 7), 7);
    is_u64(hit(0, 400, 41), 11); // 100, 110 ... 190, and 300
    is_u64(hit(50, 250, 3), 1);  // 50, 150, 250
    is_u64(hit(150, 350, 2), 1); // 150, 350
    is_u64(hit(201, 299, 99), 0);
    is_u64(hit(990, 1010, 3), 2);
}

TEST("phase_times: what no clock shows is held in bounds")
{
    is_u64(hit(INT64_MIN, INT64_MAX, 2), 0);
    is_u64(hit(1000, INT64_MAX, UINT64_MAX) > 0, 1);
    is_u64(hit(500, 400, 5), 0);
    is_u64(hit(150, 150, 0), 0);
    const struct phase_looks looks = {0, 10, 5};
    is_u64(phase_times_hit(NULL, &looks), 0);
}
