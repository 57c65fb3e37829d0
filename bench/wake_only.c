// SPDX-License-Identifier: Apache-2.0
// wake_only RATE: sleeps until the next of so many ticks a second at random, does
// nothing, sleeps again, until it is ended. What that costs a program beside it is
// the floor of any sampler from outside at that rate.
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "bench.h"

int main(int count, char **words)
{
    const double rate = count == 2 ? strtod(words[1], NULL) : 0;
    if (!(rate > 0))
        return 2;
    uint64_t state = UINT64_C(88172645463325252);
    double due_ns = (double)bench_ns(CLOCK_MONOTONIC);
    prctl(PR_SET_TIMERSLACK, 1);
    for (;;) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        due_ns -= log(((double)(state >> 11) + 1) / 9007199254740993.0) * 1e9 / rate;
        const struct timespec until = {(time_t)(due_ns / 1e9), (long)fmod(due_ns, 1e9)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        const double now_ns = (double)bench_ns(CLOCK_MONOTONIC);
        due_ns = now_ns > due_ns ? now_ns : due_ns; // missed ones are missed
    }
}
