// SPDX-License-Identifier: Apache-2.0
// The clock by its properties, against a world whose time is made up: how long waking
// takes is ours to say. What a Poisson process is, the textbook says.
#include "sample/poisson_clock.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "support/tap.h"

enum { TICKS = 200000 };

#define SEED UINT64_C(0x1234567890abcdef)
#define LATE_NS UINT64_C(1000000) // as documented in the header

// Waits as the system would that wakes us `oversleep_ns` behind the time asked for.
static uint64_t wake(struct poisson_clock *clock, uint64_t now, uint64_t oversleep_ns)
{
    const uint64_t due = (uint64_t)ceil(clock->due_ns);
    return due > now ? due + oversleep_ns : now;
}

// Takes one tick; gives how far behind its time that was, as the clock counts it.
static double tick(struct poisson_clock *clock, uint64_t *now, uint64_t oversleep_ns)
{
    *now = wake(clock, *now, oversleep_ns);
    poisson_clock_take(clock, *now);
    const double late_ns = (double)*now - clock->due_ns;
    poisson_clock_next(clock);
    return late_ns;
}

// Takes TICKS ticks and leaves the time after the last.
static uint64_t run(struct poisson_clock *clock, uint64_t oversleep_ns, uint64_t work_ns)
{
    uint64_t now = 0;
    for (int i = 0; i < TICKS; i++) {
        tick(clock, &now, oversleep_ns);
        now += work_ns;
    }
    return now;
}

static bool is_near(double got, double wanted, double share)
{
    return fabs(got - wanted) <= wanted * share;
}

TEST("poisson_clock: gaps are exponential: their deviation is their mean")
{
    struct poisson_clock clock;
    double sum = 0, squares = 0, longer = 0;
    poisson_clock_init(&clock, 1000, 0, SEED);
    for (int i = 0; i < TICKS; i++) {
        const double before = clock.due_ns;
        poisson_clock_next(&clock);
        const double gap = clock.due_ns - before;
        ok(gap > 0);
        sum += gap;
        squares += gap * gap;
        longer += gap > 2e6;
    }
    const double mean = sum / TICKS;
    ok(is_near(mean, 1e6, 0.01));
    ok(is_near(sqrt(squares / TICKS - mean * mean), 1e6, 0.02));
    ok(is_near(longer / TICKS, exp(-2), 0.02));
}

TEST("poisson_clock: the time of waking up is made up for: the rate is the one asked for")
{
    struct poisson_clock clock;
    poisson_clock_init(&clock, 1000, 0, SEED);
    const uint64_t took_ns = run(&clock, 60000, 50000);
    ok(is_near((double)took_ns, TICKS * 1e6, 0.01));
    is_u64(clock.late, 0);
}

TEST("poisson_clock: a tick that is late starts the clock anew: no burst follows")
{
    struct poisson_clock clock;
    int soon = 0;
    uint64_t now = 0;
    poisson_clock_init(&clock, 1000, 0, SEED);
    for (int i = 0; i < 1000; i++) {
        now += 500 * LATE_NS; // half a second away
        tick(&clock, &now, 0);
        soon += clock.due_ns <= (double)now;
        ok(clock.due_ns >= (double)now);
    }
    is_int(soon, 0);
    is_u64(clock.late, 1000);
}

TEST("poisson_clock: ticks made up for all lie within a millisecond")
{
    struct poisson_clock clock;
    double most = 0;
    uint64_t now = 0;
    poisson_clock_init(&clock, 1000, 0, SEED);
    for (int i = 0; i < TICKS; i++) {
        most = fmax(most, tick(&clock, &now, (uint64_t)(i % 20) * 100000)); // up to 1.9 ms
    }
    ok(most <= (double)LATE_NS);
    ok(most > 0);
    ok(clock.late > 0 && clock.late < TICKS);
    ok(is_near(TICKS + clock.missed, (double)now / 1e6, 0.01)); // none is lost without being told
}

TEST("poisson_clock: one that is too fast to sleep makes up for nothing")
{
    struct poisson_clock clock;
    poisson_clock_init(&clock, 1e6, 0, SEED);
    ok(clock.is_fast);
    // A round takes 20 times as long as the gap: as fast as it can is what is left.
    const uint64_t took_ns = run(&clock, 0, 20000);
    ok(is_near((double)took_ns, TICKS * 20000.0, 0.01));
    is_u64(clock.late, 0);
    ok((double)took_ns - clock.due_ns < 1e6);
}

TEST("poisson_clock: two clocks by chance differ, one of a seed repeats itself")
{
    struct poisson_clock clock, other;
    poisson_clock_init(&clock, 1000, 0, 0);
    poisson_clock_init(&other, 1000, 0, 0);
    ok(clock.state && other.state && clock.state != other.state);
    poisson_clock_init(&clock, 1000, 7, SEED);
    poisson_clock_init(&other, 1000, 7, SEED);
    poisson_clock_next(&clock);
    poisson_clock_next(&other);
    ok(clock.due_ns == other.due_ns && clock.due_ns > 7);
}

TEST("poisson_clock: a wait ends behind its tick, or tells that it was a nap")
{
    const double rates[] = {2000, 50000}; // sleeps; spins
    for (int i = 0; i < 2; i++) {
        struct poisson_clock clock;
        uint64_t now = clock_steady_ns();
        int naps = 0, ticks = 0;
        poisson_clock_init(&clock, rates[i], now, SEED);
        while (ticks < 40) {
            const double due = clock.due_ns;
            const uint64_t before = now;
            const bool is_tick = poisson_clock_wait(&clock, 200e3, &now);
            ok(now >= before);
            if (is_tick) {
                ok((double)now >= due);
                poisson_clock_next(&clock);
                ticks++;
                continue;
            }
            naps++;
            ok(due - (double)before > 200e3);
            ok((double)now >= (double)before + 200e3);
        }
        ok(rates[i] > 5000 || naps > 0);
    }
}
