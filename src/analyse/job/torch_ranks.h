// SPDX-License-Identifier: Apache-2.0
// The ranks of a PyTorch job: of each process that makes steps, its steps.
#ifndef GAIT_ANALYSE_TORCH_RANKS_H
#define GAIT_ANALYSE_TORCH_RANKS_H

#include "analyse/job/inventory.h"
#include "analyse/job/process_lives.h"
#include "analyse/job/rank_steps.h"

struct torch_ranks {
    // what is wished
    struct inventory *survey;
    struct process_lives lives; // none: recordings stand for them
    uint32_t main_track;        // whose facts are kept for a run without steps; or NO_TRACK
    bool keeps_pieces;
    // what was found
    struct rank_steps *rows; // after torch_ranks_settle() in order of rank
    size_t count, capacity;
    size_t first; // whose thread is kept, SIZE_MAX: none is
    bool is_full; // some facts did not fit into memory
    struct hook_facts main_facts;
    struct pending_rank *pending; // steps if nothing in the run learns
    size_t pending_count, pending_capacity;
};

struct fact_ask;

#define TORCH_NO_TRACK UINT32_MAX

void torch_ranks_init(struct torch_ranks *ranks, struct inventory *survey);
void torch_ranks_finish(struct torch_ranks *ranks); // takes NULL and a zeroed struct

// The answer is a struct torch_ranks. Asked for behind inventory_analysis, whose answer
// is the same survey, or once that is made.
extern const struct analysis torch_ranks_analysis;

// When all shards were read: puts the ranks into order and says which of them are one rank.
// The thread of the first that made steps is kept.
// GAIT_ERR_MEMORY where facts of a shard found no room, too.
GAIT_CHECK int torch_ranks_settle(struct torch_ranks *ranks);

struct torch_ranks_wish {
    struct gait_trace *trace;
    const struct fact_ask *asks; // answered by the same reading
    size_t ask_count;
};

// All of it of one reading of the run; wishes stand in `ranks`, too. Without facts of a training
// there are no ranks. Who called finishes all three, after a failure, too.
GAIT_CHECK int torch_ranks_read(struct torch_ranks *ranks, struct inventory *survey,
                                struct torch_phases *phases, const struct torch_ranks_wish *wish);

// The facts of the main track, NULL: there are none.
const struct hook_facts *torch_ranks_main(const struct torch_ranks *ranks);

#endif
