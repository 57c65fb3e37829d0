// SPDX-License-Identifier: Apache-2.0
// What every process of a run did, as a graph: pieces of the time of its threads, the work of
// its streams, and what each of them had to wait for (docs/howto/what-if.md).
//
// The end of a step is the end of a node, so the longest way to it is the step's critical
// path, and a replay with less work gives the step's length if that were so.
#ifndef GAIT_ANALYSE_PATH_GRAPH_H
#define GAIT_ANALYSE_PATH_GRAPH_H

#include <gait/trace.h>

#include "analyse/path/dag.h"
#include "analyse/path/path_marks.h"
#include "analyse/path/path_rows.h"

// Kinds of pieces: work, then the time between two nodes.
// X(identifier, "key", "what people read")
#define PATH_KINDS_OF_WORK(X)                                                                      \
    X(HOST, "host", "host code")                                                                   \
    X(OP, "op", "op")                                                                              \
    X(CALL, "call", "call of the runtime")                                                         \
    X(KERNEL, "kernel", "kernel")                                                                  \
    X(COLLECTIVE, "collective", "collective")                                                      \
    X(COPY, "copy", "copy")
#define PATH_KINDS_OF_WAITS(X)                                                                     \
    X(NEXT, "next", "next on the thread")                                                          \
    X(LAUNCH, "launch", "launch")                                                                  \
    X(STREAM, "stream", "gap on the stream")                                                       \
    X(DEPENDENCY, "dependency", "after another stream")                                            \
    X(SYNC, "sync", "return to the host")                                                          \
    X(THREAD, "thread", "hand-over of threads")                                                    \
    X(PEER, "peer", "hand-over of ranks")                                                          \
    X(UNKNOWN, "unknown", "not on record")

enum path_kind {
#define X(identifier, key, words) PATH_##identifier,
    PATH_KINDS_OF_WORK(X) PATH_KINDS_OF_WAITS(X)
#undef X
        PATH_KINDS
};
_Static_assert((int)PATH_KINDS <= (int)DAG_KINDS, "kinds of edges are kinds of pieces");

struct path_node {
    const char *name;
    uint32_t shard;
    uint8_t kind;
    path_mask mask;   // scales of its own work
    path_mask covers; // those of names and phases around it, which device work inherits
};

// A place on a thread: its nodes are found by time.
struct path_place {
    int64_t end_ns;
    uint32_t track, node;
};

// A collective on one rank, as a node.
struct path_collective {
    const void *group; // the same on all ranks; NULL: of a step's communication
    uint64_t step, number;
    uint32_t node, shard, track;
};

struct path_graph {
    struct dag dag;
    struct path_node *nodes; // of the same numbers
    size_t capacity;
    struct path_place *places; // once sorted: by track, then by end
    size_t place_count, place_capacity;
    struct path_collective *collectives;
    size_t collective_count, collective_capacity;
    uint64_t matched; // collectives found on several ranks
    struct path_marks marks;
    struct path_sites sites;
    const struct gait_trace *trace;
};

// `scales` may be empty; it outlives the graph.
GAIT_CHECK int path_graph_make(struct path_graph *graph, struct gait_trace *trace,
                               struct path_scales *scales);
void path_graph_finish(struct path_graph *graph); // takes a zeroed struct

// For the files that make it.
GAIT_CHECK int path_graph_add(struct path_graph *graph, const struct path_node *node,
                              struct dag_node times, uint32_t *ret_node);
GAIT_CHECK int path_graph_place(struct path_graph *graph, uint32_t track, uint32_t node);
GAIT_CHECK int path_graph_collective(struct path_graph *graph, const struct path_collective *row);
// The last node of the track that ends by then; SIZE_MAX: none. In `places` of the graph.
size_t path_graph_find(const struct path_graph *graph, uint32_t track, int64_t at_ns);

#endif
