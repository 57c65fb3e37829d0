// SPDX-License-Identifier: Apache-2.0
// What the bench programs share: clocks, pinning, medians, and reading back
// what a run directory holds. Each program includes it once and stands alone.
#ifndef BENCH_H
#define BENCH_H

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <gait/trace.h>

static inline uint64_t bench_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// One read of the cheapest clock of the machine: the floor of any recorder.
static inline uint64_t bench_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return bench_ns(CLOCK_MONOTONIC);
#endif
}

// Keeps the compiler from dropping what computed `value`.
static inline void bench_use(uint64_t value)
{
    __asm__ volatile("" : : "r"(value) : "memory");
}

// Binds the calling thread to the index-th of its processors, modulo their
// number, and with it the threads that it starts from now on.
static inline void bench_pin(int index)
{
    static cpu_set_t all;
    static int count;
    cpu_set_t one;

    if (!count) {
        sched_getaffinity(0, sizeof all, &all);
        count = CPU_COUNT(&all);
    }
    CPU_ZERO(&one);
    for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE && count > 0; cpu++)
        if (CPU_ISSET(cpu, &all) && seen++ == index % count)
            CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static inline int bench_order(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

// Sorts the values in place.
static inline double bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, bench_order);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

// A number given on the command line, with K, M or G (binary); 0 if it is none.
static inline uint64_t bench_number(const char *text)
{
    char *end;
    uint64_t number;

    if (*text < '0' || *text > '9')
        return 0;
    errno = 0;
    number = strtoull(text, &end, 10);
    if (*end == 'K' || *end == 'M' || *end == 'G')
        number <<= *end == 'K' ? 10 : *end == 'M' ? 20 : 30;
    else if (*end)
        return 0;
    return errno ? 0 : number;
}

struct bench_read_back {
    uint64_t events, dropped, bytes;
    uint32_t damage;
};

// What the trace at `path` says of itself. 0, or -1 with a line on stderr.
static inline int bench_read_back(const char *path, struct bench_read_back *ret_sum)
{
    struct bench_read_back sum = {0};
    struct gait_trace *trace;

    if (gait_trace_open(path, &trace)) {
        fprintf(stderr, "bench: %s\n", gait_trace_error());
        return -1;
    }
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++) {
        struct gait_shard_info info;

        if (gait_trace_shard(trace, i, &info))
            continue;
        sum.events += info.events;
        sum.dropped += info.dropped;
        sum.bytes += info.bytes;
    }
    sum.damage = gait_trace_damage_count(trace);
    gait_trace_close(trace);
    *ret_sum = sum;
    return 0;
}

#endif
