// SPDX-License-Identifier: Apache-2.0
// A graph of work and of what it had to wait for. A node begins when the last of its
// predecessors has ended and the delay of that edge is over; without predecessors it begins
// when it did. So the graph can be replayed with other amounts of work, and the longest way
// through it is the critical path.
//
// Pure: nodes and edges in, times out.
#ifndef GAIT_ANALYSE_DAG_H
#define GAIT_ANALYSE_DAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

enum { DAG_NO_NODE = UINT32_MAX, DAG_KINDS = 16 };

// Times are within DAG_MOST_NS of 0, so that any two are less than 2^63 apart.
#define DAG_MOST_NS (INT64_MAX / 4)

struct dag_node {
    int64_t start_ns, work_ns; // as measured
};

struct dag_edge {
    int64_t lag_ns;
    uint32_t from, to;
    uint8_t kind; // the caller's, below DAG_KINDS
};

struct dag {
    struct dag_node *nodes;
    struct dag_edge *edges; // once settled: by `to`
    size_t count, capacity, edge_count, edge_capacity;
    size_t *first_edge; // of each node, and behind the last
    uint32_t *order;    // each node behind its predecessors
    uint64_t dropped;   // edges that the measured times contradict
};

void dag_finish(struct dag *dag); // takes NULL and a zeroed struct

GAIT_CHECK int dag_add_node(struct dag *dag, struct dag_node node, uint32_t *ret_node);
// An edge from or to DAG_NO_NODE is not added.
GAIT_CHECK int dag_add_edge(struct dag *dag, uint32_t from, uint32_t to, uint8_t kind);

// After the last edge: finds the order. An edge whose source did not end before its target
// began is dropped.
GAIT_CHECK int dag_settle(struct dag *dag);

// Sets the delays so that a replay gives the measured times exactly. A node was kept by the
// predecessor that would have let it begin last, had each edge taken the least time that any
// of its kind took: that edge gets all of the time between them.
void dag_measure_lags(struct dag *dag);

// How long a node works now.
typedef int64_t dag_work(const void *context, uint32_t node);

// `ret_end_ns` has room for each node. `work` NULL: as measured.
void dag_replay(const struct dag *dag, dag_work *work, const void *context, int64_t *ret_end_ns);

// The edge that a node waited for last, by the ends of a replay; NULL: it has none.
const struct dag_edge *dag_last_edge(const struct dag *dag, const int64_t *end_ns, uint32_t node);

#endif
