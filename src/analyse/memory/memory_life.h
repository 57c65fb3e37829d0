// SPDX-License-Identifier: Apache-2.0
// The life of memory, device by device: how much was held over time, who held it when it was
// most, and what was never given back. Asks [memory] events alone, whoever wrote them:
// torch.profiler, an allocator's snapshot, or gait in its windows.
#ifndef GAIT_ANALYSE_MEMORY_LIFE_H
#define GAIT_ANALYSE_MEMORY_LIFE_H

#include <stdbool.h>

#include "analyse/memory/memory_owners.h"
#include "analyse/steps/chosen.h"

enum { MEMORY_MOST_POINTS = 512, MEMORY_MOST_EVENTS = 5000000 };

// The highest of a stretch of time.
struct memory_point {
    int64_t at_ns, allocated, reserved;
    int64_t categories[MEMORY_CATEGORY_COUNT]; // of what was taken in the record
};

struct memory_curve {
    struct memory_point points[MEMORY_MOST_POINTS];
    size_t count, stretch, held; // so many events make a point; so many are in the last one
};

struct memory_block {
    int64_t bytes;
    uint64_t from, to; // numbers of events of the device; to UINT64_MAX: not given back
    uint32_t place, recording;
    enum memory_category category;
    bool is_older;  // it was there before
    bool is_chosen; // it was taken in the chosen times
};

struct memory_device {
    struct gait_shard_info shard;
    uint32_t shard_number;
    char name[40];
    bool is_process; // what the process has of the system's memory: a curve alone
    bool has_addresses;
    bool is_chosen; // what it held in the chosen times is known
    uint64_t allocations, releases, older_releases;
    int64_t start_ns, end_ns;
    // Held when the recording of the peak began, as far as it tells: of gait's windows what was
    // given back in it.
    int64_t before_bytes;
    int64_t peak_bytes; // most held at a time, with what was there before
    int64_t peak_ns, peak_reserved, end_bytes;
    int64_t recording_start_ns, recording_end_ns; // of that of the peak; INT64_MIN and _MAX: all
    uint64_t kept_count, kept_bytes;              // taken in the record and not given back
    uint64_t failures;                            // allocations that there was no room for
    int64_t failed_bytes, failed_free_bytes, failed_ns; // of the last one; free -1: not known
    int64_t at_peak[MEMORY_CATEGORY_COUNT];
    struct memory_curve *curve;
    struct memory_taking *taking; // while it is read
};

// One owner by name and category, on one device.
struct memory_holder {
    uint32_t device, place; // place: the one of that name that had most
    enum memory_category category;
    char name[120];
    uint64_t allocations, allocated_bytes, peak_count, peak_bytes, kept_count, kept_bytes;
    uint64_t place_bytes;
};

struct memory_life {
    struct memory_device *devices; // in order of rank, then process, then name
    size_t device_count, device_room;
    struct memory_holder *holders; // most at the peak first
    size_t holder_count, holder_room;
    struct memory_owners owners;
};

// Of chosen times (NULL: all) that devices have that hold something in them. What is alive when
// such a time begins is held, whenever it was taken; what is taken, given back and fails counts
// when that happens.
GAIT_CHECK int memory_life_make(struct memory_life *life, struct gait_trace *trace,
                                const struct chosen *chosen);

// The same without owners, of gait's own recordings alone; of none where they have more than
// MEMORY_MOST_EVENTS: a report would take a second longer.
GAIT_CHECK int memory_life_peaks(struct memory_life *life, struct gait_trace *trace);

// The device that people see the most of: the fullest one, of the process itself last. NULL:
// there is none.
const struct memory_device *memory_life_fullest(const struct memory_life *life);
void memory_life_finish(struct memory_life *life); // takes a zeroed struct

#endif
