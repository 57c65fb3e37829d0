// SPDX-License-Identifier: Apache-2.0
// What a process recorded last and could not write: taken from its ring file
// and added to the shard as frames in memory (docs/FORMAT.md section 7).
#ifndef GAIT_LOAD_SALVAGE_H
#define GAIT_LOAD_SALVAGE_H

#include "base/arena.h"
#include "load/shard/row_reader.h"

// Does nothing when the shard is closed, or its ring file is not to be found or
// not readable. Afterwards shard.is_whole or shard.is_live tell how it stands.
// `arena` serves for scratch.
GAIT_CHECK int salvage_shard(struct shard *shard, struct row_reader *rows, struct arena *arena);

// Path of the shard's ring file, in the arena; NULL when there is none, or when it is not this
// shard's to remove: its process lives, or it is another shard's or another user's.
GAIT_CHECK int salvage_spent_ring(struct shard *shard, struct row_reader *rows, struct arena *arena,
                                  const char **ret_path);

#endif
