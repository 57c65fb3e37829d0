// SPDX-License-Identifier: Apache-2.0
// What the loaders did to make batches, and in how many processes of their own.
#ifndef GAIT_ANALYSE_LOADER_WORKERS_H
#define GAIT_ANALYSE_LOADER_WORKERS_H

#include <stdint.h>

#include <gait/error.h>

struct gait_trace;
struct inventory;

struct loader_work {
    uint64_t fetch_ns, collate_ns; // collating is part of fetching
    uint64_t fetches;              // batches
    uint64_t workers;              // at a time; 0: the training's own threads made the batches
    uint64_t processes;            // in all
};

// Each epoch may have started workers of its own: those that lived one after another
// are not counted together.
GAIT_CHECK int loader_workers_find(struct loader_work *work, const struct inventory *survey,
                                   const struct gait_trace *trace);

#endif
