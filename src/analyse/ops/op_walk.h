// SPDX-License-Identifier: Apache-2.0
// Ops and allocations of one process in order of time, each with where it
// happened: in which op, phase and module. Backward ops are told the module of
// their forward, by the number of the autograd node.
#ifndef GAIT_ANALYSE_OP_WALK_H
#define GAIT_ANALYSE_OP_WALK_H

#include <stdint.h>

#include <gait/trace.h>

#define TORCH_NOWHERE UINT32_MAX

struct torch_phases;
struct inventory;

// Sites of the trace, TORCH_NOWHERE where there is none around.
struct torch_place {
    uint32_t op, module;
    uint32_t phase;   // number in struct torch_phases
    int64_t backward; // of the autograd node around, -1: none
};

// Which ops are open on the track of the event, the innermost last.
struct torch_opened {
    const uint32_t *sites;
    size_t count;
};

struct torch_event {
    const struct gait_event *event;
    struct torch_place place; // of an op: around it
    struct torch_opened opened;
};

typedef int op_walk_visit(const struct torch_event *event, void *context); // not 0 stops

// Who wants to see ops, ranges and allocations, and of which time: those that touch
// [since, until), 0 for open.
struct op_walker {
    op_walk_visit *visit;
    void *context;
    int64_t since_ns, until_ns;
};

enum { TORCH_MOST_WALKERS = 4 };

struct op_walk {
    struct gait_trace *trace;
    const struct torch_phases *phases;
    const struct inventory *survey;
    uint32_t shard;
    struct op_walker walkers[TORCH_MOST_WALKERS];
    size_t walker_count;
    uint32_t *module_parents; // of a site, TORCH_NOWHERE; room for all sites, or NULL
};

void op_walk_add(struct op_walk *walk, const struct op_walker *walker);

// Reads the shard once for all walkers.
GAIT_CHECK int op_walk_all(const struct op_walk *walk);

#endif
