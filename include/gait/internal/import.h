// SPDX-License-Identifier: Apache-2.0
// What a profiler's trace of this process says of its devices becomes a part of the process's
// own run, in a shard beside its own. The Python package calls it when a window closes.
#ifndef GAIT_INTERNAL_IMPORT_H
#define GAIT_INTERNAL_IMPORT_H

#include <stddef.h>
#include <stdint.h>

#include "../error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gait_device_import {
    size_t size;                // sizeof(struct gait_device_import)
    const char *trace;          // Chrome JSON, packed or not
    const char *shard;          // the path to write, which must not exist
    const char *owner;          // name of the process's own shard, in the same folder
    int64_t pid, rank;          // rank -1: not known
    int64_t since_ns, until_ns; // when devices were on record, since the epoch
};

// All or nothing; the events that were written. gait_trace_error() tells what went wrong.
GAIT_API GAIT_CHECK int gait_import_devices(const struct gait_device_import *import,
                                            uint64_t *ret_events);

#ifdef __cplusplus
}
#endif
#endif
