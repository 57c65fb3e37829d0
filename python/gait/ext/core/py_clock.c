// SPDX-License-Identifier: Apache-2.0
// Which counter is the clock, and how long its tick is.
#define _GNU_SOURCE
#include "core/py_clock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define ENOUGH_NS 4000000 // two readings are each true to 50 ns or so

int py_clock_has_ticks;

static uint64_t first_tick, first_ns;

uint64_t py_clock_raw_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#if defined(__x86_64__)
// Guests often hide the processor's bit although the kernel trusts the counter.
static int kernel_uses_it(void)
{
    char source[8] = "";
    int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY);
    if (file < 0)
        return 0;
    ssize_t got = read(file, source, sizeof source - 1);
    close(file);
    return got > 0 && !strncmp(source, "tsc", 3);
}
#endif

static int is_steady(void)
{
#if defined(__x86_64__)
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (__get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx) && (edx & (1u << 8)))
        return 1;
    return kernel_uses_it();
#elif defined(__aarch64__)
    return 1;
#else
    return 0;
#endif
}

// Of a few tries the one that nobody interrupted.
static void read_both(uint64_t *ret_tick, uint64_t *ret_ns)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 7; i++) {
        uint64_t before = py_clock_now(), ns = py_clock_raw_ns(), after = py_clock_now();
        if (after - before >= best)
            continue;
        best = after - before;
        *ret_tick = before + best / 2;
        *ret_ns = ns;
    }
}

void py_clock_init(void)
{
    if (first_ns)
        return;
    const char *wish = getenv("GAIT_CLOCK");
    py_clock_has_ticks = !(wish && !strcmp(wish, "raw")) && is_steady();
    read_both(&first_tick, &first_ns);
}

double py_clock_tick_seconds(void)
{
    if (!py_clock_has_ticks)
        return 1e-9;
    uint64_t tick = first_tick, ns = first_ns;
    while (ns - first_ns < ENOUGH_NS)
        read_both(&tick, &ns);
    return (double)(ns - first_ns) / (double)(tick - first_tick) * 1e-9;
}
