// SPDX-License-Identifier: Apache-2.0
// When this process began, which is before it records: a reader wants the whole run.
#ifndef GAIT_RECORD_BIRTH_H
#define GAIT_RECORD_BIRTH_H

#include <stdint.h>

#include "base/clock.h"

struct birth {
    int64_t real_ns;   // since the epoch, as times of the shard are
    uint64_t error_ns; // it is true to ± that; 0: not known
};

// `now` is an anchor that was read just now. The child of a fork began with the fork;
// exec() begins no process.
struct birth birth_find(const struct clock_anchor *now);

#endif
