// SPDX-License-Identifier: Apache-2.0
// What the devices of a rank did, over all of their time and in each step: exclusive states
// that add up to the window exactly, and why nothing ran where nothing did (docs/DEVICES.md).
#ifndef GAIT_ANALYSE_BREAKDOWN_H
#define GAIT_ANALYSE_BREAKDOWN_H

#include <stdbool.h>

#include "analyse/device/recorded_steps.h"
#include "facts/facts.h"
#include "vocabulary/roles.h"

enum { DEVICE_STATES = 1 << LANE_COUNT };

// What a thread of the host is held up by: it waits for its next batch, or for the device.
enum device_wait { WAIT_INPUT, WAIT_DEVICE, WAIT_COUNT };

// Why no device of the rank did anything.
enum idle_cause {
    IDLE_HOST_LATE,  // the next work was not launched yet
    IDLE_LAUNCH,     // launched, on its way to the device
    IDLE_DEPENDENCY, // launched before the device came to rest; it waited for something else
    IDLE_GAP,        // the same, shorter than IDLE_GAP_NS: what follows on a stream takes as long
    IDLE_UNKNOWN,    // what launched the next work is not on record
    IDLE_CAUSES
};
enum { IDLE_GAP_NS = 3000, SMALL_KERNEL_NS = 10000 };

// The bits of a state.
enum {
    DEVICE_COMPUTE = 1 << LANE_COMPUTE,
    DEVICE_COMM = 1 << LANE_COMM,
    DEVICE_COPY = 1 << LANE_COPY
};

struct breakdown {
    uint64_t span_ns;
    uint64_t state_ns[DEVICE_STATES]; // by the bits of the lanes; they sum to span_ns
    uint64_t idle_ns[IDLE_CAUSES];    // they sum to state_ns[0]
    uint64_t waiting_ns[WAIT_COUNT];  // of state_ns[0]: the host waited, for what stands first
    // Of the rest of state_ns[0]: it began when the host had waited for the devices, which ran
    // dry meanwhile; and how often that was.
    uint64_t drained_ns, drained;
};
enum { BREAKDOWN_WORDS = 3 + DEVICE_STATES + IDLE_CAUSES + WAIT_COUNT };

// Adds all its sums, or takes them away.
void breakdown_add(struct breakdown *to, const struct breakdown *sums, bool is_minus);

// Of all lanes in `with` at least, and of none in `without`.
uint64_t breakdown_time(const struct breakdown *breakdown, unsigned with, unsigned without);

struct breakdown_step {
    const char *name; // the trace's
    int64_t start_ns;
    struct breakdown breakdown;
};

// One device of a rank that has several: the rank's own time, in which others may be busy.
struct breakdown_device {
    int32_t device;
    uint64_t events[LANE_COUNT];
    struct breakdown whole;
};

struct breakdown_rank {
    uint32_t shard;
    bool has_device; // else only steps are known
    int64_t start_ns;
    uint64_t events[LANE_COUNT];
    uint64_t small, small_ns; // kernels that take less than SMALL_KERNEL_NS; their time together
    uint64_t pageable, pageable_ns; // copies whose names say that the host's memory is so
    struct breakdown whole;
    struct breakdown_step *steps; // in order of start
    size_t step_count;
    struct breakdown_device *devices; // in order of number; none where all is of one
    size_t device_count;
};

// Of each rank of the trace; the answer is a struct device_run.
extern const struct fact_consumer breakdown_consumer;

void breakdown_rank_finish(struct breakdown_rank *rank); // takes NULL and a zeroed struct

#endif
