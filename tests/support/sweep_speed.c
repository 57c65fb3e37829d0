// SPDX-License-Identifier: Apache-2.0
// How many intervals a second one processor brings into order and cuts into exclusive
// states: three lanes of random ones, unsorted. Prints JSON. An argument: how many.
#define _GNU_SOURCE
#include "analyse/time/sweep_states.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LANES = 3, REPEATS = 5 };

static uint64_t state = 88172645463325252u;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// The nanoseconds it took, 0 when there is no memory or the states do not add up.
static uint64_t run_once(size_t count)
{
    struct intervals sets[LANES] = {{.count = 0}};
    const struct interval window = {0, (int64_t)count * 1000};
    struct sweep_lanes lanes = {.count = LANES};
    uint64_t out[1 << LANES] = {0}, sum = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t start_ns = (int64_t)(draw() % (count * 1000));
        if (intervals_add(&sets[draw() % LANES], start_ns, start_ns + 1 + (int64_t)(draw() % 999)))
            return 0;
    }
    const uint64_t began_ns = cpu_ns();
    for (unsigned i = 0; i < LANES; i++) {
        intervals_join(&sets[i]);
        lanes.lanes[i] = &sets[i];
    }
    sweep_states(&lanes, window, out);
    const uint64_t took_ns = cpu_ns() - began_ns;
    for (unsigned i = 0; i < 1 << LANES; i++)
        sum += out[i];
    for (unsigned i = 0; i < LANES; i++)
        intervals_finish(&sets[i]);
    return sum == (uint64_t)window.end_ns ? took_ns : 0;
}

int main(int argc, char **argv)
{
    const size_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 4000000;
    uint64_t best_ns = UINT64_MAX;
    for (int i = 0; i < REPEATS; i++) {
        const uint64_t took_ns = run_once(count);
        if (!took_ns)
            return 1;
        best_ns = took_ns < best_ns ? took_ns : best_ns;
    }
    printf("{\"intervals\": %zu, \"intervals_per_second\": %.0f}\n", count,
           (double)count * 1e9 / (double)best_ns);
    return 0;
}
