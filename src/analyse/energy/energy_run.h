// SPDX-License-Identifier: Apache-2.0
// The devices whose energy `gait run` measured, and what they used: in the run, or in any
// times of it. A device that several `gait run` read counts once.
//
//     status = energy_run_read(&run, trace);
//     energy = energy_run_of(&run, &(struct energy_wish){.kinds = ENERGY_ALL, .times = &step,
//                                                        .count = 1});
//     joules ± energy_error(&energy), measured during energy.measured_ns of it
//     energy_run_finish(&run);
#ifndef GAIT_ANALYSE_ENERGY_RUN_H
#define GAIT_ANALYSE_ENERGY_RUN_H

#include <gait/trace.h>

#include "analyse/energy/energy_series.h"
#include "analyse/steps/chosen.h"
#include "vocabulary/meters.h"

// A counter that is not summed: each value holds until the next one.
struct energy_gauge {
    uint64_t count, total_ns;
    double sum; // of value times ns: the mean is sum / total_ns
    int64_t least, most;
    bool has_last;
    struct energy_reading last;
};

enum { ENERGY_THROTTLES = 3 };

struct energy_device {
    const char *host, *key, *name; // the trace's
    enum meter_device kind;
    enum meter_source from;
    bool is_shared;              // the run used a part of it (MIG)
    bool is_part;                // its times are a choice
    struct energy_source source; // its readings
    struct energy_series series;
    struct intervals times; // of its readings those that are chosen; all figures are of these
    struct energy_gauge gauges[METER_COUNT];
    uint64_t throttled_ns[ENERGY_THROTTLES]; // by bit
    uint64_t failures;                       // readings that failed
    int64_t failure;                         // code of the last one
    int64_t failed_ns, end_ns;               // when; when the last reading of any kind was
};

// It was lost: the last readings failed.
bool energy_device_is_lost(const struct energy_device *device);

// What the power readings say, of the device's times; NAN where there are none.
double energy_device_power_joules(const struct energy_device *device);

// Mean and largest power in watts; NAN: not known.
double energy_device_mean_watts(const struct energy_device *device);
double energy_device_most_watts(const struct energy_device *device);

// The mean of a gauge over time; NAN: there are no readings.
double energy_gauge_mean(const struct energy_gauge *gauge);

struct energy_run {
    struct energy_device *devices; // by host, kind and key
    size_t count, capacity;
    bool is_asked;     // a shard of readings is there, with or without devices
    const char *about; // its metadata `meter`: rate, cost, what was not measured and why; or NULL
};

enum {
    ENERGY_ALL = 1 << DEVICE_GPU | 1 << DEVICE_CPU | 1 << DEVICE_DRAM,
    ENERGY_GPUS = 1 << DEVICE_GPU
};

GAIT_CHECK int energy_run_read(struct energy_run *run, struct gait_trace *trace);
// Of the times alone that are chosen on a device's host (NULL: all). What a counter did that it
// should not is of its whole series.
GAIT_CHECK int energy_run_read_part(struct energy_run *run, struct gait_trace *trace,
                                    const struct chosen *chosen);
void energy_run_finish(struct energy_run *run); // takes NULL and a zeroed struct

struct energy_wish {
    unsigned kinds;               // bits 1 << DEVICE_...
    const char *host;             // NULL: of all
    const struct interval *times; // in order, apart; NULL: those of each device
    size_t count;
};

// What one device used in its times.
struct energy energy_device_of(const struct energy_device *device);

// The sum over its devices. measured_ns is that of the device that was measured longest.
struct energy energy_run_of(const struct energy_run *run, const struct energy_wish *wish);

// How many devices of these kinds there are.
size_t energy_run_devices(const struct energy_run *run, unsigned kinds);

#endif
