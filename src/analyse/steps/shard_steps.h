// SPDX-License-Identifier: Apache-2.0
// The steps of each process, as gait steps numbers them.
#ifndef GAIT_ANALYSE_SHARD_STEPS_H
#define GAIT_ANALYSE_SHARD_STEPS_H

#include <stddef.h>

#include <gait/export.h>
#include <gait/trace.h>

struct shard_step {
    struct gait_export_step step;
    uint32_t shard;
};

struct shard_steps {
    struct shard_step *rows;
    size_t count, capacity;
    struct gait_export_step *list; // of the rows
};

GAIT_CHECK int shard_steps_find(struct shard_steps *steps, struct gait_trace *trace);

// Those of a process, in order of start.
const struct gait_export_step *shard_steps_of(const struct shard_steps *steps, uint32_t shard,
                                              size_t *ret_count);
void shard_steps_finish(struct shard_steps *steps); // takes a zeroed struct

#endif
