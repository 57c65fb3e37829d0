// SPDX-License-Identifier: Apache-2.0
// From when to when each process of a run lived. A process that `gait run` started is told
// from its real start, which is before it recorded: imports are a part of the run. One that
// began to record by itself is told from there, since the time before was not asked about.
#ifndef GAIT_ANALYSE_PROCESS_LIVES_H
#define GAIT_ANALYSE_PROCESS_LIVES_H

#include <stdint.h>

#include <gait/trace.h>

#include "base/arena.h"

struct process_life {
    int64_t start_ns, end_ns;
    int64_t recorded_ns;     // when its recording began
    uint64_t start_error_ns; // start_ns is true to ± that; 0: it is recorded_ns
};

static inline uint64_t process_life_unrecorded_ns(const struct process_life *life)
{
    return (uint64_t)life->recorded_ns - (uint64_t)life->start_ns;
}

struct process_lives {
    struct process_life *rows; // by shard
    uint32_t count;
};

GAIT_CHECK int process_lives_find(struct process_lives *lives, const struct gait_trace *trace,
                                  struct arena *arena);

// The life of a track's process; of lives that nobody looked for, its recording.
GAIT_CHECK int process_lives_of_track(const struct process_lives *lives,
                                      const struct gait_trace *trace, uint32_t track,
                                      struct process_life *ret_life);

#endif
