// SPDX-License-Identifier: Apache-2.0
// What each module communicated and called, by pass: torch's CommDebugMode of a record, with
// bytes and times, which that has not.
#ifndef GAIT_ANALYSE_COMM_DEBUG_H
#define GAIT_ANALYSE_COMM_DEBUG_H

#include "analyse/modules/module_tree.h"
#include "base/intern.h"

// Calls of one name in one module and pass. As CommDebugMode counts, a collective is also one
// of each module around; an op is of its own module alone.
struct comm_entry {
    const char *name;
    const char *shapes, *dtype, *group; // of the first call; or NULL
    uint32_t node;
    enum module_pass pass;
    bool is_collective, is_trivial;
    uint64_t calls, ns, bytes, device_ns; // bytes 0: not known
    uint64_t own_calls;                   // without those of modules inside
};

struct comm_debug {
    struct module_tree tree;
    struct comm_entry *entries; // by node, pass, collectives first, in order of first call
    size_t count, room;
    struct arena arena;
    struct intern texts;
};

GAIT_CHECK int comm_debug_make(struct comm_debug *debug, struct gait_trace *trace, uint32_t shard);
void comm_debug_finish(struct comm_debug *debug); // takes a zeroed struct

// The first entry of a node and pass, and behind the last one; equal: none.
void comm_debug_of(const struct comm_debug *debug, uint32_t node, enum module_pass pass,
                   const struct comm_entry *ret_range[2]);

#endif
