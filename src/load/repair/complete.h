// SPDX-License-Identifier: Apache-2.0
// Makes the shard of a dead process whole: what its ring file holds is written
// into it, index and trailer behind, and the ring file goes away.
#ifndef GAIT_LOAD_COMPLETE_H
#define GAIT_LOAD_COMPLETE_H

#include <stdint.h>

#include <gait/error.h>

// How a process ended, for the metadata `exit` of its shard.
struct complete_exit {
    int64_t pid;
    const char *json; // JSON text
};

// Completes the shard at `path`. One that is closed already is left as it is.
// GAIT_ERR_STATE: its process lives, or somebody else is at it; GAIT_ERR_MISSING:
// its ring file is gone. Whatever fails, or whoever dies over it, nothing that
// was there before is lost, and the next one can try again.
// `how` may be NULL; it is noted if its pid is the shard's, else that the process left the
// shard unclosed.
GAIT_CHECK int complete_shard(const char *path, const struct complete_exit *how);

// Completes what can be completed in a run directory, and passes over shards of
// processes that live and shards without a ring file. The first failure of
// another kind is returned after all were tried.
GAIT_CHECK int complete_directory(const char *path, const struct complete_exit *how);

#endif
