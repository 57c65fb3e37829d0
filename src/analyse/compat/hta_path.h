// SPDX-License-Identifier: Apache-2.0
// The critical path as HolisticTraceAnalysis finds it within one annotation of a rank: the
// heaviest way through the starts and ends of ops, calls and device work, in whole us.
#ifndef GAIT_ANALYSE_COMPAT_HTA_PATH_H
#define GAIT_ANALYSE_COMPAT_HTA_PATH_H

#include "analyse/compat/hta_rows.h"

// X(identifier, "what it calls them"), in the order of its names
#define HTA_EDGES(X)                                                                               \
    X(DEPENDENCY, "critical_path_dependency")                                                      \
    X(KERNEL, "critical_path_kernel_kernel_delay")                                                 \
    X(LAUNCH, "critical_path_kernel_launch_delay")                                                 \
    X(OPERATOR, "critical_path_operator")                                                          \
    X(SYNC, "critical_path_sync_dependency")
#define HTA_BOUNDS(X)                                                                              \
    X(NOTHING, "")                                                                                 \
    X(CPU, "cpu_bound")                                                                            \
    X(COMM, "gpu_communication_bound")                                                             \
    X(COMPUTE, "gpu_compute_bound")                                                                \
    X(KERNEL, "gpu_kernel_kernel_overhead")                                                        \
    X(LAUNCH, "gpu_kernel_launch_overhead")

enum hta_edge_type {
#define X(identifier, key) HTA_EDGE_##identifier,
    HTA_EDGES(X)
#undef X
        HTA_EDGE_TYPES
};
enum hta_bound {
#define X(identifier, key) HTA_BOUND_##identifier,
    HTA_BOUNDS(X)
#undef X
        HTA_BOUND_COUNT
};

struct hta_tally {
    uint64_t count;
    int64_t us;
};

struct hta_path {
    size_t nodes, edges; // of the graph
    struct hta_tally of_graph[HTA_EDGE_TYPES];
    size_t path_nodes, path_edges, path_events;
    int64_t weight_us;
    struct hta_tally of_path[HTA_EDGE_TYPES], bounds[HTA_BOUND_COUNT];
};

// Whether the rank has what the tool needs for it.
bool hta_path_has_syncs(const struct hta_rank *rank);

// Of what begins from one time to the other.
GAIT_CHECK int hta_path_make(struct hta_path *path, const struct hta_rank *rank, int64_t since_us,
                             int64_t until_us);

#endif
