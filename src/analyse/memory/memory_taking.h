// SPDX-License-Identifier: Apache-2.0
// One device's memory while events come: what is held, its curve, its peak, its blocks.
#ifndef GAIT_ANALYSE_MEMORY_TAKING_H
#define GAIT_ANALYSE_MEMORY_TAKING_H

#include "analyse/memory/memory_life.h"

// An event of memory: bytes are taken, or given back where they are negative.
struct memory_change {
    int64_t at_ns, bytes, address, allocated, reserved, free_bytes;
    bool has_address, has_allocated, has_reserved, is_older;
    const char *stack;
    uint32_t place;
    enum memory_category category;
};

// Counts what happens in these times, and holds what is alive when they begin; NULL: in all.
GAIT_CHECK int memory_taking_begin(struct memory_device *device, const struct intervals *times);
GAIT_CHECK int memory_taking_add(struct memory_device *device, const struct memory_change *change);

// What an allocator has of the system changed, or it had no room for an allocation.
void memory_taking_segment(struct memory_device *device, const struct memory_change *change,
                           bool is_failure);
// So much is held at that time, and nothing else is known.
void memory_taking_gauge(struct memory_device *device, int64_t at_ns, int64_t bytes);

// From now on something may happen that is on no record, and until now: what is held is not known.
void memory_taking_pause(struct memory_device *device, int64_t at_ns);
void memory_taking_restart(struct memory_device *device, int64_t at_ns);

void memory_taking_end(struct memory_device *device);
void memory_taking_drop(struct memory_device *device); // takes one that has none

// The holders of a device that has ended; sort once all devices were added.
GAIT_CHECK int memory_holders_add(struct memory_life *life, uint32_t device);
void memory_holders_sort(struct memory_life *life);

#endif
