// SPDX-License-Identifier: Apache-2.0
// Python functions in a torch.profiler trace: the number of each, and that of its
// caller. Given in order of begin.
#ifndef GAIT_EXPORT_PT_FUNCTIONS_H
#define GAIT_EXPORT_PT_FUNCTIONS_H

#include <stdint.h>

#include <gait/error.h>

#include "load/order/open_calls.h"

struct pt_function {
    int64_t start_ns, end_ns;
    uint64_t id, parent; // from 1; 0: nobody called it
    uint32_t thread;     // of those with functions, which one
};

struct pt_thread {
    struct open_calls open;
    uint32_t number; // + 1; 0: none yet
};

struct pt_functions {
    struct pt_thread *tracks;
    uint32_t track_count, threads;
    uint64_t last;
};

GAIT_CHECK int pt_functions_init(struct pt_functions *functions, uint32_t track_count);
void pt_functions_finish(struct pt_functions *functions); // takes a zeroed struct

// Fills in id, parent and thread.
GAIT_CHECK int pt_functions_begin(struct pt_functions *functions, uint32_t track,
                                  struct pt_function *function);

#endif
