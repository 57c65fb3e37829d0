// SPDX-License-Identifier: Apache-2.0
// The facts of all threads of a process, gathered from the rows of its shard: what the
// hooks noted (docs/TORCH.md), still without any judgement.
#ifndef GAIT_ANALYSE_SHARD_FACTS_H
#define GAIT_ANALYSE_SHARD_FACTS_H

#include "analyse/ops/tuple_map.h"
#include "analyse/steps/hook_facts.h"
#include "analyse/steps/trace_facts.h"
#include "load/pass/pass.h"

struct inventory;

struct thread_facts {
    struct hook_facts facts;
    struct tuple_map ids; // small numbers for addresses, in order of appearance
    bool has_ids;
    struct trace_marks marks; // where the shard was imported
};

struct shard_facts {
    const struct inventory *survey;
    struct pass_shard shard;
    uint32_t only;                  // this track alone, or SHARD_FACTS_ALL
    struct thread_facts *threads;   // of the shard's tracks
    struct trace_process process;   // where it was imported
    struct intervals calls, ranges; // HINT_CALL and HINT_WAIT, of all threads
    int64_t *epochs;
    size_t epoch_count, epoch_capacity;
    int64_t end_ns;  // of the shard
    int64_t exit_ns; // INT64_MAX: nobody said
};

#define SHARD_FACTS_ALL UINT32_MAX

// What shard_facts_add() must be shown.
#define SHARD_FACTS_KINDS (1u << GAIT_KIND_SPAN | 1u << GAIT_KIND_MARK)
#define SHARD_FACTS_COLUMNS                                                                        \
    (GAIT_COLUMN_START | GAIT_COLUMN_DURATION | GAIT_COLUMN_SITE | GAIT_COLUMN_ARGS)

GAIT_CHECK int shard_facts_init(struct shard_facts *gathered, const struct inventory *survey,
                                const struct pass_shard *shard, uint32_t only);
GAIT_CHECK int shard_facts_add(struct shard_facts *gathered, const struct gait_batch *batch);

// When all rows were added and the shard's survey is complete: moves one thread's facts, in
// order and with its process's modes, windows and epochs, to `ret_facts`.
GAIT_CHECK int shard_facts_take(struct shard_facts *gathered, uint32_t track,
                                struct hook_facts *ret_facts);

// From the first op of a thread to its last: what an imported trace knows of a process's
// life. Its windows for recording may last much longer. False: it has no ops.
bool shard_facts_life(const struct shard_facts *gathered, uint32_t track,
                      struct interval *ret_life);
void shard_facts_finish(struct shard_facts *gathered); // takes a zeroed struct

#endif
