// SPDX-License-Identifier: Apache-2.0
// The one door through which commands open what they answer about: a shard, a run, or
// another tool's trace, which is imported once and kept in a cache.
#ifndef GAIT_CLI_TRACE_DOOR_H
#define GAIT_CLI_TRACE_DOOR_H

#include <stdbool.h>

#include <gait/error.h>

struct gait_trace;

// Shards that dead processes left behind are made whole first. A foreign trace, or a folder
// of them, is imported into $GAIT_CACHE_DIR, else $XDG_CACHE_HOME/gait, else ~/.cache/gait,
// unless that was done since it changed; or, `is_uncached`, into a folder that goes when
// the process ends. What was repaired or skipped is said on stderr.
GAIT_CHECK int trace_door_open(const char *path, bool is_uncached, struct gait_trace **ret_trace);

#endif
