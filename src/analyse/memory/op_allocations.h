// SPDX-License-Identifier: Apache-2.0
// Memory that ops took and gave back on one device, in the window in which it held most: how
// much over time, who held what at the peak, and what was kept.
#ifndef GAIT_ANALYSE_OP_ALLOCATIONS_H
#define GAIT_ANALYSE_OP_ALLOCATIONS_H

#include <stddef.h>
#include <stdint.h>

#include <gait/trace.h>

struct arena;
struct torch_report;
struct op_walk;

enum { BLOCKS_MOST_POINTS = 512 };

struct blocks_point {
    int64_t at_ns, bytes;
};

// An op, a module or a phase, by name; "" where there was none around.
struct blocks_owner {
    const char *name;
    uint64_t allocations;
    int64_t self_bytes, total_bytes; // taken less given back; total: with the ops it called
    uint64_t peak_bytes, kept_bytes; // of its blocks: alive at the peak, and at the end
    uint64_t kept;                   // blocks
};

struct blocks_owners {
    struct blocks_owner *rows; // most at the peak first, then most allocations
    size_t count;
};

struct op_allocations {
    int64_t start_ns, end_ns;                       // of the window; 0 and 0: there is none
    uint64_t allocations, releases, older_releases; // older: of blocks from before
    uint64_t allocated_bytes;
    int64_t peak_bytes, peak_ns, before_bytes; // as memory_life.h has them
    uint64_t kept, kept_bytes;                 // never given back while it lasted
    struct blocks_point *curve;                // the highest of each stretch of time
    size_t curve_count;
    struct blocks_owners ops, modules, phases;
};

struct blocks_taking;

// Adds a walker over the window in which torch->memory has its peak; the walk must be of
// torch->memory.shard. op_allocations_end() sums up what it saw and frees it.
GAIT_CHECK int op_allocations_begin(struct blocks_taking **ret_taking, struct op_walk *walk,
                                    struct torch_report *torch, struct arena *arena);
GAIT_CHECK int op_allocations_end(struct blocks_taking *taking);
void op_allocations_drop(struct blocks_taking *taking); // takes NULL

#endif
