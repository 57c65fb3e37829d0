// SPDX-License-Identifier: Apache-2.0
// Readings as a shard (docs/FORMAT.md, vocabulary): a counter track a device. What was read is
// on the disk a few seconds later, whatever becomes of the reader.
#ifndef GAIT_METER_SHARD_H
#define GAIT_METER_SHARD_H

#include "base/clock.h"
#include "meter/meter_set.h"
#include "shard/shard_out.h"
#include "shard/small_rows.h"

enum { METER_ROWS = 1024 };

struct meter_track { // of one device, by its place in the set
    bool is_told;
    uint32_t count;
    uint64_t starts[METER_ROWS], sites[METER_ROWS], values[METER_ROWS];
};

struct meter_shard {
    struct shard_out writer;
    struct small_rows rows;
    struct meter_track *tracks; // METER_MOST_DEVICES
    struct clock_anchor first_anchor;
    bool is_open;
    uint64_t readings;
    int status;    // of the first write that failed
    char why[256]; // the same in words
};

struct meter_shard_about {
    const char *path;
    int64_t subject_pid;
};

GAIT_CHECK int meter_shard_open(struct meter_shard *shard, const struct meter_shard_about *about);

// Rows of the device in place `at`, of one moment. The device is told before its first row.
void meter_shard_put(struct meter_shard *shard, const struct metered *device, size_t at,
                     const struct meter_look *look);

// Puts into the file what there is; `about` is the metadata `meter`, NULL: nothing new.
void meter_shard_flush(struct meter_shard *shard, const char *about, uint64_t cpu_ns);

// Index and trailer; a shard without readings goes, unless it `is_kept`. Fails with the first
// failure there was.
GAIT_CHECK int meter_shard_close(struct meter_shard *shard, bool is_kept);

#endif
