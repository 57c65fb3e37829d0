// SPDX-License-Identifier: Apache-2.0
// The recorder's clock: raw ticks, turned into time only by readers.
#ifndef GAIT_BASE_CLOCK_H
#define GAIT_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

// One moment on three clocks, true to ± error_ns.
struct clock_anchor {
    uint64_t tick;
    int64_t raw_ns, real_ns;
    uint64_t error_ns;
};

// Chosen by clock_setup(); until then, and where ticks are unsteady, false.
extern bool clock_has_ticks;

void clock_setup(void);
uint64_t clock_raw_ns(void);
uint64_t clock_steady_ns(void); // the one that the system sleeps by
struct clock_anchor clock_read_anchor(void);

// Ticks a second between two anchors, 0 when they are too close to tell.
uint64_t clock_tick_hz(const struct clock_anchor *from, const struct clock_anchor *to);

static inline uint64_t clock_now(void)
{
#if defined(__x86_64__)
    if (__builtin_expect(clock_has_ticks, 1))
        return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    if (__builtin_expect(clock_has_ticks, 1)) {
        uint64_t ticks;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
    }
#endif
    return clock_raw_ns();
}

// The same in two halves, for the hot path: only where clock_has_ticks. Other
// machines have no hot path, they go the long way round through clock_now().
static inline void clock_now_halves(uint32_t *ret_low, uint32_t *ret_high)
{
#if defined(__x86_64__)
    __asm__ volatile("rdtsc" : "=a"(*ret_low), "=d"(*ret_high));
#else
    uint64_t now = clock_now();
    *ret_low = (uint32_t)now;
    *ret_high = (uint32_t)(now >> 32);
#endif
}

#endif
