// SPDX-License-Identifier: Apache-2.0
// What devices did for a process lies in shards of their own, one a window (role `devices`).
// They are read together with the shard of their process, as if they were a part of it.
#ifndef GAIT_LOAD_SHARD_OWNER_H
#define GAIT_LOAD_SHARD_OWNER_H

#include "load/run.h"

// Fills in the owner of each shard and who comes after whom.
GAIT_CHECK int shard_owner_find(struct run *run);

// The shard that a shard belongs to; most belong to themselves.
static inline uint32_t shard_owner(const struct gait_trace *trace, uint32_t shard)
{
    return trace->run.shards[shard]->owner;
}

// The first shard that belongs to another one, and the next of these: RUN_NO_SHARD at the end.
static inline uint32_t shard_owned_first(const struct run *run, uint32_t shard)
{
    return run->shards[shard]->first_owned;
}
static inline uint32_t shard_owned_next(const struct run *run, uint32_t shard)
{
    return run->shards[shard]->next_owned;
}

#endif
