// SPDX-License-Identifier: Apache-2.0
// Numbers as decimal text, the same in every locale. Each function writes at
// `put`, which has room for NUMBER_TEXT_MAX bytes, and returns the end; no NUL.
#ifndef GAIT_EXPORT_NUMBER_TEXT_H
#define GAIT_EXPORT_NUMBER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBER_TEXT_MAX 40

char *number_put_uint(char *put, uint64_t value);
char *number_put_int(char *put, int64_t value);

// `units` thousandths with three decimals: nanoseconds as microseconds, exact.
char *number_put_thousandths(char *put, int64_t units);

// 17 significant digits at most, so that reading it gives the same double back;
// always with a point or an exponent, so that it reads as a real. What is not
// finite is written as nan, inf or -inf.
char *number_put_real(char *put, double value);

// Whether `text` is a number as JSON spells it.
bool number_is_json(const char *text, size_t bytes);

#endif
