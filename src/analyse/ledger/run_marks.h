// SPDX-License-Identifier: Apache-2.0
// A first look at a run of any kind: the steps that were marked, and how long each thread was
// inside spans.
#ifndef GAIT_ANALYSE_RUN_MARKS_H
#define GAIT_ANALYSE_RUN_MARKS_H

#include "base/buffer.h"
#include "load/pass/pass.h"

struct run_marks {
    struct buffer steps;     // of struct step_row, of all shards
    uint64_t open_steps;     // begun and never ended
    uint64_t *busy_ns;       // of a track: inside outermost spans
    uint32_t *rank_of_track; // ranks as steps_merge() wants them
    int64_t *end_ns;         // of a track: where spans without an end are cut off
};

GAIT_CHECK int run_marks_init(struct run_marks *marks, const struct gait_trace *trace);
void run_marks_finish(struct run_marks *marks); // takes NULL and a zeroed struct

// The answer is a struct run_marks.
extern const struct analysis run_marks_analysis;

#endif
