// SPDX-License-Identifier: Apache-2.0
// Collectives bind ranks: it goes on once the last one has come.
#ifndef GAIT_ANALYSE_PATH_PEERS_H
#define GAIT_ANALYSE_PATH_PEERS_H

#include "analyse/path/path_graph.h"

// Joins the collectives of the graph, after all edges of single processes.
GAIT_CHECK int path_peers_link(struct path_graph *graph, struct gait_trace *trace);

#endif
