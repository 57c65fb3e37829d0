// SPDX-License-Identifier: Apache-2.0
// The samples of one shard with their whole stacks: the event cursor serves a
// sample's innermost function alone.
#ifndef GAIT_LOAD_STACK_ROWS_H
#define GAIT_LOAD_STACK_ROWS_H

#include <stdint.h>

#include "load/run.h"
#include "vocabulary/samples.h"

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

// What stands for a process or a thread at the root of a stack is a site without a
// file, no call: FRAME_PROCESS or FRAME_THREAD. FRAME_NONE for all others.
enum frame_kind stack_rows_owner(const struct gait_site_info *site);

struct stack_sample {
    uint32_t track; // number in the trace
    uint32_t stack; // id; 0 and what has no row are left out
    uint64_t tick;  // when it began, on the track's clock
    uint64_t weight;
    uint64_t state; // vocabulary/samples.h
};

// Hands every sample of the shard to `take`, until one of its answers is not 0,
// which is returned then.
typedef int stack_rows_take(void *context, const struct stack_sample *sample);
GAIT_CHECK int stack_rows_samples(struct run *run, uint32_t index, stack_rows_take *take,
                                  void *context);

// Nanoseconds between two rounds of the shard, on average.
double stack_rows_period(const struct run_shard *shard);

#endif
