// SPDX-License-Identifier: Apache-2.0
// Level of detail: sums of spans, in a file beside the shard, so that a look
// from far away needs few rows (docs/FORMAT.md section 9).
#ifndef GAIT_LOAD_LOD_H
#define GAIT_LOAD_LOD_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/error.h>

struct lod_result {
    uint64_t spans, rows, bytes; // summed up, written, of the file
    bool was_up_to_date;         // then nothing was done
};

// Writes `<path>-index` for the shard at `path`, whole or not at all. A file
// that is up to date stays, unless `is_forced`.
GAIT_CHECK int lod_write(const char *path, bool is_forced, struct lod_result *ret_result);

#endif
