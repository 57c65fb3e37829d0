// SPDX-License-Identifier: Apache-2.0
// Which forward op a backward one belongs to, found as torch.profiler finds it:
// by the number of the autograd node and the thread. Of a thread's ops with one
// number the one that began last made the node. Of the backward ops that lie in
// one another the innermost takes it, and later ones go without.
//
// Memory is bounded: of a thread whose nodes never get a backward the last
// PT_LINKS_MAX are kept.
#ifndef GAIT_EXPORT_PT_LINKS_H
#define GAIT_EXPORT_PT_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/error.h>

#define PT_LINKS_MAX (1u << 18)

struct pt_node {
    uint64_t number; // + 1; 0: none
    int64_t start_ns;
};

// A backward op; `thread` is that of the forward, as torch counts them.
struct pt_backward {
    uint64_t thread, number;
    int64_t start_ns, end_ns;
};

// Of one thread: the nodes that wait for their backward, by number, and the last
// backward op, which another may lie in.
struct pt_nodes {
    struct pt_node *nodes;
    uint32_t capacity; // 0 or a power of two
    bool is_open;
    struct pt_backward last;
};

struct pt_links {
    struct pt_nodes *tracks;
    uint32_t track_count;
    uint32_t *threads; // torch's number of a thread: its track + 1
    uint64_t made;     // links
};

struct pt_link {
    uint64_t id;
    uint32_t forward_track, backward_track;
    int64_t forward_ns, backward_ns; // starts
};

GAIT_CHECK int pt_links_init(struct pt_links *links, uint32_t track_count);
void pt_links_finish(struct pt_links *links); // takes a zeroed struct

GAIT_CHECK int pt_links_forward(struct pt_links *links, uint32_t track, uint64_t number,
                                int64_t start_ns);

// True: the backward op before was the innermost of its node, and this is its
// link. To be asked before each backward op of a thread, and at the end with
// INT64_MAX and no op.
bool pt_links_settle(struct pt_links *links, uint32_t track, int64_t now_ns,
                     const struct pt_backward *op, struct pt_link *ret_link);

void pt_links_backward(struct pt_links *links, uint32_t track, const struct pt_backward *op);

#endif
