// SPDX-License-Identifier: Apache-2.0
// The processes of a run that have torch's ops or make steps, each with its
// steps and the windows in which ops were on record: what an exporter must know
// of a recording that says nothing about steps itself.
#ifndef GAIT_ANALYSE_TORCH_PROCESSES_H
#define GAIT_ANALYSE_TORCH_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/export.h>
#include <gait/trace.h>

struct torch_window {
    int64_t begin_ns, end_ns;
    bool is_partial; // the process ended before the schedule ended it
};

struct torch_work {
    int64_t begin_ns, end_ns;
};

struct torch_process {
    uint32_t shard, step_track;     // step_track: where its steps are made
    struct gait_export_step *steps; // in order; NULL where gait.step() recorded them
    struct torch_work *work;        // of each step: from its first forward, backward or
                                    // optimizer's step to its last; else all of it
    size_t step_count;
    struct torch_window *windows; // in order
    size_t window_count;
};

struct torch_processes {
    struct torch_process *rows; // in order of shard
    size_t count;
};

// Of a run without PyTorch there are none.
GAIT_CHECK int torch_processes_find(struct torch_processes *processes, struct gait_trace *trace);
void torch_processes_finish(struct torch_processes *processes); // takes a zeroed struct

#endif
