// SPDX-License-Identifier: Apache-2.0
// A graph of weighted edges and the heaviest way through it; of equal ones the one that
// networkx's dag_longest_path() takes.
#ifndef GAIT_ANALYSE_COMPAT_HTA_GRAPH_H
#define GAIT_ANALYSE_COMPAT_HTA_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

struct hta_edge {
    int64_t from, to, us; // us: below 0 counts as 0 on a path
    int64_t owner;        // the caller's
    uint8_t type;         // the caller's
};

struct hta_graph {
    struct hta_edge *edges; // each pair of nodes once, as it was added last
    size_t count, capacity, node_count;
    size_t met_count; // nodes that have an edge
    size_t *next_in;  // of an edge: the next one into the same node, + 1
    size_t *first_in; // of a node, + 1
    size_t in_capacity;
    size_t *path; // edges in order, once solved
    size_t path_count;
};

GAIT_CHECK int hta_graph_init(struct hta_graph *graph, size_t node_count);
void hta_graph_finish(struct hta_graph *graph); // takes a zeroed struct
GAIT_CHECK int hta_graph_add(struct hta_graph *graph, const struct hta_edge *edge);

// Fails where edges go round in a circle.
GAIT_CHECK int hta_graph_solve(struct hta_graph *graph);

#endif
