// SPDX-License-Identifier: Apache-2.0
// The threads of one process as nodes: the time of the thread that makes the steps without a
// gap, and that of autograd's thread while the other waits for it.
#ifndef GAIT_ANALYSE_PATH_HOST_H
#define GAIT_ANALYSE_PATH_HOST_H

#include "analyse/path/path_graph.h"

// Device work of the process, whose nodes follow each other from `first_node` on in the
// order of the rows.
struct path_devices {
    const struct path_list *rows;
    uint32_t first_node;
    uint32_t *by_end; // rows in order of end
};

struct path_process {
    struct path_graph *graph;
    const struct path_rows *rows;
    struct path_devices devices;
    uint32_t shard, track; // of the thread that makes the steps
    bool has_kernels;      // collectives are work of devices; the host does not wait in its calls
    struct path_step *steps;
    size_t step_count;
};

// From the start of the first step to the end of the last.
GAIT_CHECK int path_host_add(const struct path_process *process);

#endif
