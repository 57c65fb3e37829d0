// SPDX-License-Identifier: Apache-2.0
// When which thread was in a phase: what samples are held against, to say what ran in
// it. Of a PyTorch run a phase is that of its ledger (docs/TORCH.md), of its training
// threads; else, and for other names, the time in spans of that name.
#ifndef GAIT_ANALYSE_PHASE_TIMES_H
#define GAIT_ANALYSE_PHASE_TIMES_H

#include <stdbool.h>

#include <gait/trace.h>

#include "analyse/ledger/run_parts.h"
#include "analyse/ledger/torch_phases.h"
#include "analyse/time/intervals.h"

struct process_lives;

struct phase_thread {
    const char *host; // of the trace
    int64_t tid;
    uint32_t shard;
    struct intervals times; // in order, apart from each other
};

struct phase_times {
    struct phase_thread *threads;
    size_t count, capacity;
    bool is_by_shard; // threads of two shards with one number are two: ranks have the same ones
};

// Fails when no thread was ever in `phase`, and says which ones there are.
GAIT_CHECK int phase_times_find(struct phase_times *times, struct gait_trace *trace,
                                const char *phase);
// The same, by shard.
GAIT_CHECK int phase_times_find_by_shard(struct phase_times *times, struct gait_trace *trace,
                                         const char *phase);

// The places of a PyTorch run: the phases of its ledger, by number, and behind them the parts of
// the run outside of its steps.
enum { PLACE_PARTS = TORCH_MOST_PHASES, PLACE_COUNT = PLACE_PARTS + RUN_PART_COUNT };

// All of them in one reading, each as phase_times_find() has it; those where no thread was are
// empty. To be finished one by one, also where it fails.
GAIT_CHECK int phase_times_find_all(struct phase_times times[PLACE_COUNT], struct gait_trace *trace,
                                    const struct process_lives *lives);

void phase_times_finish(struct phase_times *times); // takes NULL and a zeroed struct

// NULL: that thread never was in it.
const struct intervals *phase_times_of(const struct phase_times *times, const char *host,
                                       int64_t tid);

// Looks that lie evenly from start to end, both included.
struct phase_looks {
    int64_t start_ns, end_ns;
    uint64_t count;
};

// How many of them fell into the periods.
uint64_t phase_times_hit(const struct intervals *periods, const struct phase_looks *looks);

#endif
