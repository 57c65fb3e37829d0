// SPDX-License-Identifier: Apache-2.0
// What a rank's shard tells of its devices: their kernels, copies and memsets, the calls of
// the host that started them, and the steps that a profiler numbered.
#ifndef GAIT_ANALYSE_DEVICE_ROWS_H
#define GAIT_ANALYSE_DEVICE_ROWS_H

#include <stdbool.h>

#include <gait/trace.h>

#include "vocabulary/roles.h"

// What a thread of the host is held up by: it waits for its next batch, or for the device.
enum device_wait { WAIT_INPUT, WAIT_DEVICE, WAIT_COUNT };

struct device_event {
    int64_t start_ns, end_ns;
    uint64_t link; // to the call that started it, 0: not known
    uint32_t track, site;
};

struct device_list {
    struct device_event *rows;
    size_t count, capacity;
};

struct device_step {
    int64_t start_ns, end_ns;
    const char *name;
};

// A time with devices on record; of an imported trace there is one.
struct device_window {
    uint32_t shard;
    int64_t start_ns, end_ns; // of the first device event, of the last
};

struct device_rows {
    struct device_list events; // once sorted: in order of start
    struct device_list calls;  // of the host, with a link; once sorted: by link, then by start
    struct device_list waits[WAIT_COUNT]; // of the host, in any order
    struct device_window *windows;
    size_t window_count, window_capacity;
    struct device_step *steps; // once sorted: by start and name, each once
    bool has_own_steps;        // those that a profiler numbered do not count
    size_t step_count, step_capacity;
    const struct gait_trace *trace;
    uint8_t *kinds; // of a site, once it was met
    uint32_t site_count;
    int32_t *devices; // of a track, once it was met; NULL: all are one device
    uint32_t track_count;
};

enum { DEVICE_UNNUMBERED = -1 };

GAIT_CHECK int device_rows_init(struct device_rows *rows, const struct gait_trace *trace);
void device_rows_finish(struct device_rows *rows); // takes NULL and a zeroed struct

#define DEVICE_ROWS_KINDS (1u << GAIT_KIND_SPAN)
#define DEVICE_ROWS_COLUMNS                                                                        \
    (GAIT_COLUMN_START | GAIT_COLUMN_DURATION | GAIT_COLUMN_SITE | GAIT_COLUMN_LINK)

GAIT_CHECK int device_rows_add(struct device_rows *rows, const struct gait_batch *batch);

// A step of gait's own.
GAIT_CHECK int device_rows_add_step(struct device_rows *rows, const struct device_step *step);

// After the last batch.
void device_rows_sort(struct device_rows *rows);

// The number of the device that a track is of; DEVICE_UNNUMBERED where none is told.
static inline int32_t device_rows_device(const struct device_rows *rows, uint32_t track)
{
    return rows->devices && track < rows->track_count ? rows->devices[track] : DEVICE_UNNUMBERED;
}

// Of one of the events.
static inline enum device_lane device_rows_lane(const struct device_rows *rows,
                                                const struct device_event *event)
{
    return (enum device_lane)rows->kinds[event->site];
}

#endif
