// SPDX-License-Identifier: Apache-2.0
// How the record of a process stands, which may still be growing: who it is, what its
// training thread told last, and in which phase and collective it is.
#ifndef GAIT_LAUNCH_RECORD_LOOK_H
#define GAIT_LAUNCH_RECORD_LOOK_H

#include <gait/error.h>

#include "analyse/stuck/stuck.h"
#include "base/arena.h"

struct record_look {
    bool is_read;
    int64_t rank, pid, world; // world 0: not known
    int64_t tid;              // of the thread that trains, as the process numbers it
    uint64_t events;          // of it
    int64_t last_ns;          // when it told something last, since the epoch; 0: never
    int64_t longest_ns;       // the longest time before in which it told nothing
    int64_t step;             // -1: not known
    const char *phase;        // innermost one that is open; or NULL
    struct stuck_collective in;
};

// Texts come from `arena`. Fails where the shard cannot be read.
GAIT_CHECK int record_look_take(const char *shard, struct arena *arena,
                                struct record_look *ret_look);

// Sets `step` too, for which all of the shard is read: once, at the end.
GAIT_CHECK int record_look_find_step(const char *shard, struct record_look *look);

#endif
