// SPDX-License-Identifier: Apache-2.0
// Microseconds as decimal text to nanoseconds, in integers alone.
#ifndef GAIT_INGEST_CHROME_TIME_H
#define GAIT_INGEST_CHROME_TIME_H

#include <stdint.h>

#include "base/slice.h"

enum chrome_time {
    CHROME_TIME_EXACT,
    CHROME_TIME_ROUNDED, // half to even
    CHROME_TIME_BAD,     // no number, or beyond what ns can hold: 0, or the nearest end
};

enum chrome_time chrome_time_of(struct slice text, int64_t *ret_ns);

#endif
