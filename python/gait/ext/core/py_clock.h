// SPDX-License-Identifier: Apache-2.0
// The clock of what is timed in this process: ticks, turned into seconds only
// when somebody asks. It is the recorder's kind of clock, but not its anchors.
#ifndef GAIT_PY_CLOCK_H
#define GAIT_PY_CLOCK_H

#include <stdint.h>

// Chosen by py_clock_init(); before it, and where ticks are unsteady, 0.
extern int py_clock_has_ticks;

void py_clock_init(void); // once a process; later calls do nothing
uint64_t py_clock_raw_ns(void);

// The length of a tick. Waits until some milliseconds have passed since
// py_clock_init(), so that it is true to 0.01 %.
double py_clock_tick_seconds(void);

static inline uint64_t py_clock_now(void)
{
#if defined(__x86_64__)
    if (__builtin_expect(py_clock_has_ticks, 1))
        return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    if (__builtin_expect(py_clock_has_ticks, 1)) {
        uint64_t ticks;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
    }
#endif
    return py_clock_raw_ns();
}

#endif
