// SPDX-License-Identifier: Apache-2.0
// How many rows a second one processor cuts into exclusive states: of three lanes, in order
// of start. Prints JSON. An argument: how many.
#define _GNU_SOURCE
#include "facts/sweep.h"

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

static void visit(void *context, unsigned lanes, int64_t from_ns, int64_t until_ns)
{
    ((uint64_t *)context)[lanes] += (uint64_t)(until_ns - from_ns);
}

// The nanoseconds it took, 0 when the states do not add up.
static uint64_t run_once(size_t count)
{
    struct sweep sweep = {.lanes = LANES};
    uint64_t out[1 << LANES] = {0}, sum = 0;
    int64_t at_ns = 0;
    const uint64_t began_ns = cpu_ns();
    sweep_until(&sweep, 0, visit, out);
    for (size_t i = 0; i < count; i++) {
        const uint64_t number = draw();
        at_ns += (int64_t)(number % 2000);
        sweep_until(&sweep, at_ns, visit, out);
        sweep_add(&sweep, (unsigned)(number >> 32) % LANES,
                  at_ns + (int64_t)((number >> 16) % 999));
    }
    const uint64_t took_ns = cpu_ns() - began_ns;
    for (unsigned i = 0; i < 1 << LANES; i++)
        sum += out[i];
    return sum == (uint64_t)at_ns ? took_ns : 0;
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
