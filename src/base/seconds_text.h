// SPDX-License-Identifier: Apache-2.0
// Lengths of time as people write them: 10, 0.5, 500ms, 20us, 7ns, 90s, 2m, 1.5h, 1d.
#ifndef GAIT_BASE_SECONDS_TEXT_H
#define GAIT_BASE_SECONDS_TEXT_H

#include <stdbool.h>

// Seconds where no unit stands. False for what is no length of time: a sign, nan, an
// unknown unit. One beyond all numbers is infinite.
bool seconds_text_read(const char *text, double *ret_seconds);

#endif
