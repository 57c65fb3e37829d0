// SPDX-License-Identifier: Apache-2.0
// What critical paths are made of: time by kind, name and process.
#ifndef GAIT_ANALYSE_PATH_SUMS_H
#define GAIT_ANALYSE_PATH_SUMS_H

#include "analyse/path/path_graph.h"

struct path_sum {
    const char *name;
    uint64_t ns;
    uint32_t shard;
    uint8_t kind; // enum path_kind
};

struct path_sums {
    struct path_sum *rows; // once settled: each kind, name and process once, the longest first
    size_t count, capacity;
};

// Adds the critical path of a step, by the ends of a replay of what was measured. The pieces
// sum to the step exactly.
GAIT_CHECK int path_sums_add(struct path_sums *sums, const struct path_graph *graph,
                             const int64_t *end_ns, const struct path_step *step);
GAIT_CHECK int path_sums_join(struct path_sums *sums, const struct path_sums *others);
void path_sums_settle(struct path_sums *sums);
void path_sums_finish(struct path_sums *sums); // takes a zeroed struct

uint64_t path_sums_total(const struct path_sums *sums);

// The ends of all nodes where the wanted scales hold, as bits; 0: as it was measured.
GAIT_CHECK int path_replay(const struct path_graph *graph, const struct path_scales *scales,
                           path_mask wanted, int64_t **ret_end_ns);

// How long the step takes in a replay.
uint64_t path_replay_step(const int64_t *end_ns, const struct path_step *step);

#endif
