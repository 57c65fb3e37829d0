// SPDX-License-Identifier: Apache-2.0
// The steps of a run and the phases in them, by thread and in order of time.
#ifndef GAIT_ANALYSE_PATH_MARKS_H
#define GAIT_ANALYSE_PATH_MARKS_H

#include <stdbool.h>

#include <gait/trace.h>

#include "analyse/path/path_scales.h"

struct path_step {
    int64_t start_ns, end_ns;
    uint64_t number;
    const char *name; // the trace's, "" where a number is all
    uint32_t track, shard;
    uint32_t first, last; // nodes of the graph that end where it starts and where it ends
};

struct path_phase {
    int64_t start_ns, end_ns;
    const char *name;
    size_t window; // that it is in
    uint32_t track;
    path_mask mask;
    bool is_communication;
};

struct path_marks {
    struct path_step *steps; // by track, then by start; apart from each other
    size_t step_count, step_capacity;
    struct path_phase *phases; // by track, then by start
    size_t phase_count, phase_capacity;
    bool is_whole; // no steps are on record: one window for each process stands for them
};

GAIT_CHECK int path_marks_make(struct path_marks *marks, struct gait_trace *trace,
                               struct path_scales *scales);
void path_marks_finish(struct path_marks *marks); // takes a zeroed struct

// Those of a track.
struct path_step *path_marks_steps(const struct path_marks *marks, uint32_t track,
                                   size_t *ret_count);
const struct path_phase *path_marks_phases(const struct path_marks *marks, uint32_t track,
                                           size_t *ret_count);

#endif
