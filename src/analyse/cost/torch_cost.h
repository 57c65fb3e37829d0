// SPDX-License-Identifier: Apache-2.0
// What gait cost the training's own threads: what was recorded, times what
// recording one of it cost in that process (metadata `cost_ns`), ops as the steps
// in windows show (window_cost.h); and how much
// memory the training took, where it is known.
#ifndef GAIT_ANALYSE_TORCH_COST_H
#define GAIT_ANALYSE_TORCH_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "load/pass/pass.h"

struct arena;
struct torch_report;
struct inventory;

struct torch_cost {
    bool is_known;
    bool is_unmeasured;                  // of some events nobody said what one cost
    uint64_t hooks_ns;                   // on the threads of all processes
    uint64_t steps_ns;                   // of all ranks, as they would be without
    uint64_t devices_ns, device_windows; // between steps, for recording devices
};

// What the windows had no room for.
struct torch_lost {
    uint64_t shapes; // ops without them
    uint64_t blocks; // whose release has no size
};

struct torch_memory {
    uint64_t rss_bytes; // the largest process's peak, 0: not known
    // Of the device that held most, in one of gait's windows, as memory_life.h has it; peak 0:
    // of none, or there is too much to look at.
    int64_t peak_bytes, before_bytes;
    int64_t peak_ns;          // in the process of `shard`
    int64_t start_ns, end_ns; // of the window
    uint32_t shard;
    char device[40];
};

// The report's survey and ranks are known; sets its cost.
void torch_cost_find(struct torch_report *torch, const struct gait_trace *trace);
void torch_lost_find(struct torch_report *torch, const struct gait_trace *trace);

GAIT_CHECK int torch_memory_find(struct torch_memory *memory, struct gait_trace *trace);

// The text that is all of a metadata value, in the arena; NULL where there is none,
// or one with more to it than plain characters.
const char *torch_cost_text(const char *json, struct arena *arena);

#endif
