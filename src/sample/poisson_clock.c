// SPDX-License-Identifier: Apache-2.0
// Deadlines are absolute; those missed by more than a moment are skipped and counted,
// never made up for: samples in a row would all see the same moment.
#define _GNU_SOURCE
#include "sample/poisson_clock.h"

#include <math.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"

#define LATE_NS 1e6
#define SPIN_NS 30e3 // sleeping takes that long here, whatever is asked for
#define SPIN_RATE 20000.0

void poisson_clock_init(struct poisson_clock *clock, double rate_hz, uint64_t now_ns, uint64_t seed)
{
    *clock = (struct poisson_clock){.due_ns = (double)now_ns,
                                    .gap_ns = 1e9 / rate_hz,
                                    .state = seed,
                                    .is_fast = rate_hz >= SPIN_RATE};
    if (!seed && (getrandom(&clock->state, sizeof clock->state, GRND_NONBLOCK) < 0))
        clock->state = now_ns;
    if (!clock->state)
        clock->state = 1;
}

void poisson_clock_next(struct poisson_clock *clock)
{
    clock->state ^= clock->state << 13;
    clock->state ^= clock->state >> 7;
    clock->state ^= clock->state << 17;
    const double chance = ((double)(clock->state >> 11) + 1) / 9007199254740993.0;
    clock->due_ns -= log(chance) * clock->gap_ns;
}

void poisson_clock_take(struct poisson_clock *clock, uint64_t now_ns)
{
    const double behind_ns = (double)now_ns - clock->due_ns;
    if (behind_ns > LATE_NS) {
        clock->late++;
        clock->missed += behind_ns / clock->gap_ns;
    }
    // Ticks that fell into the time of waking up are made up for, so that the rate is the
    // one that was asked for; after a longer time they would all see one moment.
    if (behind_ns > 0 && (clock->is_fast || behind_ns > LATE_NS))
        clock->due_ns = (double)now_ns;
}

static void sleep_until(double until_ns)
{
    const struct timespec until = {(time_t)(until_ns / 1e9), (long)fmod(until_ns, 1e9)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

bool poisson_clock_wait(struct poisson_clock *clock, double nap_ns, uint64_t *now_ns)
{
    const double left_ns = clock->due_ns - (double)*now_ns;
    if (left_ns > nap_ns) {
        sleep_until((double)*now_ns + nap_ns);
        *now_ns = clock_steady_ns();
        return false;
    }
    if (left_ns > 0 && !(clock->is_fast && left_ns < SPIN_NS))
        sleep_until(clock->due_ns);
    while (clock->due_ns - (double)(*now_ns = clock_steady_ns()) > 0) {
        if (!clock->is_fast)
            sleep_until(clock->due_ns);
    }
    poisson_clock_take(clock, *now_ns);
    return true;
}
