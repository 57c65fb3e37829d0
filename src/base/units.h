// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them: three digits and a unit, always a unit. The
// text comes by value, so that it can stand in a printf:
//
//     printf("%s", units_ns(step_ns).text);
#ifndef GAIT_BASE_UNITS_H
#define GAIT_BASE_UNITS_H

#include <stdint.h>

struct units_text {
    char text[32];
};

struct units_text units_ns(int64_t ns);        // "999 ns" "12.3 ms" "12 min 05 s"
struct units_text units_bytes(uint64_t bytes); // "999 B" "12.3 MB" (10^6 bytes)
struct units_text units_flops(double flops);   // "999 FLOP" "12.3 GFLOP"
struct units_text units_count(uint64_t count); // "38,412,007"

// The same in at most eleven columns: millions from 10^9 on, "1,068 M".
struct units_text units_count_short(uint64_t count);

// What a noun wants behind that many: "" or "s".
const char *units_plural(uint64_t count);

// part of whole: "48.2 %", "<0.1 %" for what is there but rounds to nothing,
// ">99.9 %" for what is not quite all; "-" when whole is 0.
struct units_text units_share(uint64_t part, uint64_t whole);

#endif
