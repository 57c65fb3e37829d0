// SPDX-License-Identifier: Apache-2.0
// How the record of every track of a shard stands at its end: the last commit
// that names it, and what was open then (docs/FORMAT.md section 4).
#ifndef GAIT_LOAD_LAST_STATE_H
#define GAIT_LOAD_LAST_STATE_H

#include <stdbool.h>

#include "base/arena.h"
#include "load/shard/id_map.h"
#include "load/shard/row_reader.h"

struct last_track {
    uint64_t track;
    uint64_t position, lost, begun; // of its last commit
    size_t behind;                  // frame behind that commit, or behind lone open rows
    uint32_t group;
    bool has_commit;
};

struct last_open { // ids as they stand in the shard
    uint64_t track, start, site, number;
    uint32_t depth;
    bool is_step;
    size_t behind;     // frame behind these rows
    struct slice args; // in the arena
};

struct last_state {
    struct last_track *tracks;
    size_t track_count, track_capacity;
    struct last_open *open; // by track, step first, outermost first
    size_t open_count, open_capacity;
    struct id_map numbers; // track id -> index in tracks + 1
};

// Where the frames come from and the memory goes to.
struct last_source {
    struct shard *shard;
    const struct schema_map *schema;
    struct row_reader *rows;
    struct arena *arena;
    bool commits_only; // open rows whose commit is missing do not count
};

GAIT_CHECK int last_state_load(struct last_state *state, const struct last_source *source);
void last_state_finish(struct last_state *state); // takes NULL and a zeroed struct

// NULL when no commit and no open row names it.
const struct last_track *last_state_track(const struct last_state *state, uint64_t track);

#endif
