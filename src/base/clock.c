// SPDX-License-Identifier: Apache-2.0
// Choice of tick source and the anchors that let a reader convert ticks.
#define _GNU_SOURCE
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/os/os.h"

bool clock_has_ticks;

void clock_setup(void)
{
    const char *wish = getenv("GAIT_CLOCK");
    clock_has_ticks = !(wish && strcmp(wish, "raw") == 0) && os_tick_counter_is_steady();
}

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

uint64_t clock_raw_ns(void)
{
    return (uint64_t)read_clock(CLOCK_MONOTONIC_RAW);
}

uint64_t clock_steady_ns(void)
{
    return (uint64_t)read_clock(CLOCK_MONOTONIC);
}

struct clock_anchor clock_read_anchor(void)
{
    enum { TRIES = 9 };
    struct clock_anchor best = {0};
    uint64_t best_window = UINT64_MAX;
    // the narrowest of a few tries is the one nobody interrupted
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = clock_now();
        int64_t raw = read_clock(CLOCK_MONOTONIC_RAW);
        uint64_t between = clock_now();
        int64_t real = read_clock(CLOCK_REALTIME);
        int64_t raw_after = read_clock(CLOCK_MONOTONIC_RAW);
        if (between - before >= best_window)
            continue;
        best_window = between - before;
        best.tick = before + best_window / 2;
        best.raw_ns = raw;
        best.real_ns = real - (raw_after - raw) / 2;
        best.error_ns = (uint64_t)(raw_after - raw) / 2 + 1;
    }
    return best;
}

uint64_t clock_tick_hz(const struct clock_anchor *from, const struct clock_anchor *to)
{
    uint64_t ticks = to->tick - from->tick;
    int64_t ns = to->raw_ns - from->raw_ns;
    if (ns <= 0)
        return 0;
    return (uint64_t)((unsigned __int128)ticks * 1000000000u / (uint64_t)ns);
}
