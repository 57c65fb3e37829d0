// SPDX-License-Identifier: Apache-2.0
// The samples of one shard with their whole stacks: the event cursor serves a
// sample's innermost function alone.
#ifndef GAIT_LOAD_STACK_ROWS_H
#define GAIT_LOAD_STACK_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "load/run.h"

struct stack_row {
    uint32_t parent; // id, 0: none
    uint32_t site;   // number in the trace
    uint32_t line;   // 0: not known
};

struct stack_rows {
    struct stack_row *rows; // by id
    size_t count, capacity;
};

// Reads the stacks of shard `index`.
GAIT_CHECK int stack_rows_load(struct stack_rows *stacks, struct run *run, uint32_t index);
void stack_rows_finish(struct stack_rows *stacks); // takes a zeroed one

enum stack_frame_kind {
    STACK_FRAME_CODE,
    STACK_FRAME_PROCESS, // process 12:"python train.py"
    STACK_FRAME_THREAD,  // thread (13): name
};

// What stands for a process or a thread at the root of a stack is a site without a
// file: no call.
enum stack_frame_kind stack_rows_kind(const struct gait_site_info *site);

struct stack_sample {
    uint32_t track; // number in the trace
    uint32_t stack; // id; 0 and what has no row are left out
    uint64_t tick;  // when it began, on the track's clock
    uint64_t weight;
    uint64_t state; // docs/FORMAT.md
};

// Of a blocked thread, and to be counted only where somebody asks for a phase.
bool stack_sample_is_aside(const struct stack_sample *sample);
bool stack_sample_is_blocked(const struct stack_sample *sample);

// Hands every sample of the shard to `take`, until one of its answers is not 0,
// which is returned then.
typedef int stack_rows_take(void *context, const struct stack_sample *sample);
GAIT_CHECK int stack_rows_samples(struct run *run, uint32_t index, stack_rows_take *take,
                                  void *context);

// Nanoseconds between two rounds of the shard, on average.
double stack_rows_period(const struct run_shard *shard);

#endif
