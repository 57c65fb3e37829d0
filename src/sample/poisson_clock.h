// SPDX-License-Identifier: Apache-2.0
// Ticks at random times, so many a second on average: a program that is periodic at
// the rate itself gets its true shares.
#ifndef GAIT_SAMPLE_POISSON_CLOCK_H
#define GAIT_SAMPLE_POISSON_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct poisson_clock {
    double due_ns, gap_ns; // gap: on average
    uint64_t state;        // of its dice, never 0
    uint64_t late;         // ticks that came more than a millisecond behind their time
    double missed;         // that fell into such a time, on average, and are not made up for
    bool is_fast;          // sleeping takes too long for its rate
};

// Its first tick is due now. A seed of 0 is one by chance.
void poisson_clock_init(struct poisson_clock *clock, double rate_hz, uint64_t now_ns,
                        uint64_t seed);

// Sleeps until the tick that is due, but for nap_ns at most: false after a nap on the
// way there. *now becomes the time of waking up.
bool poisson_clock_wait(struct poisson_clock *clock, double nap_ns, uint64_t *now_ns);

// For a wait of one's own: the tick that was due is taken now.
void poisson_clock_take(struct poisson_clock *clock, uint64_t now_ns);

// After a tick: when the next one is due. It may be over already.
void poisson_clock_next(struct poisson_clock *clock);

#endif
