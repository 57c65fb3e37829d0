// SPDX-License-Identifier: Apache-2.0
// Allocations and releases beside a list of ops: how many bytes came and went
// while an op ran.
#ifndef GAIT_ANALYSE_OP_MEMORY_H
#define GAIT_ANALYSE_OP_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

struct op_memory_event {
    int64_t at_ns, bytes, thread;
    bool is_device, is_within; // within: of an op's time
    int32_t begun;             // ops that begin at it, less those that ended before
};

struct op_memory_sums {
    int64_t cpu_bytes, device_bytes;
};

struct op_memory {
    struct op_memory_event *events;
    struct op_memory_sums *before; // of each event: of all before it
    size_t count, capacity;
};

void op_memory_finish(struct op_memory *memory); // takes a zeroed struct
GAIT_CHECK int op_memory_add(struct op_memory *memory, const struct op_memory_event *event);

// Once all are there, in order of time.
GAIT_CHECK int op_memory_sum(struct op_memory *memory);

// What came and went from `start_ns` to `end_ns`, both included.
struct op_memory_sums op_memory_take(struct op_memory *memory, int64_t start_ns, int64_t end_ns);

// Once all was taken: tells of each event whether it is within.
void op_memory_close(struct op_memory *memory);

#endif
