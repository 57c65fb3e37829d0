// SPDX-License-Identifier: Apache-2.0
// What the counters of category `process` tell of a training: whether its memory grows
// with its steps, and how long its threads waited for a processor.
#ifndef GAIT_ANALYSE_TORCH_VITALS_H
#define GAIT_ANALYSE_TORCH_VITALS_H

#include <stdbool.h>
#include <stdint.h>

#include "load/pass/pass.h"

struct torch_phases;
struct torch_report;

// Of the rank whose memory grew most.
struct memory_growth {
    bool is_known; // it grew, and steadily
    int64_t rank;
    uint64_t bytes, to_bytes; // from a first to a last quarter of the second half of the steps
    uint64_t ns, a_step_bytes;
    uint32_t track;
    int64_t start_ns, end_ns;
    bool has_steps; // memory_steps.h
    uint64_t first_step, last_step;
};

// The step whose ops held far more memory than those of the steps beside it do.
struct memory_spike {
    uint64_t step, bytes, usual_bytes; // bytes 0: there is none
    const char *op;                    // that had taken the most of it, NULL: not known
    uint64_t op_bytes;
};

// Of the rank whose thread waited the largest share.
struct processor_wait {
    int64_t rank;
    uint64_t ns, of_ns; // of_ns 0: not known
};

struct torch_vitals {
    struct memory_growth growth;
    struct memory_spike spike;
    struct processor_wait wait;
};

struct torch_reading_row;

struct torch_counters {
    const struct torch_phases *phases;
    struct torch_counter {
        struct torch_reading_row *rows;
        size_t count, capacity;
    } memory, processor;
};

// The answer is a struct torch_counters with its phases set.
extern const struct analysis torch_counters_analysis;

void torch_counters_finish(struct torch_counters *counters); // takes a zeroed struct

// The report's ranks are known. Brings the counters into order.
void torch_vitals_find(struct torch_report *torch, struct torch_counters *counters);

#endif
