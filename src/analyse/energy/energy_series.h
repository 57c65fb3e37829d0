// SPDX-License-Identifier: Apache-2.0
// What one device used, as a curve: the energy of any time, and between which bounds it lies.
// Pure: readings in, joules out.
//
// A counter that is read at moments tells of each rise only that it came between two readings.
// So all energy lies in cells: a rise of the counter was used up somewhere between the reading
// before the last rise and the one that showed this rise. What a time holds is between the
// sum of the cells that lie in it whole, and the sum of those that touch it. That assumes
// nothing about the power in between. Close readings at the beginning show how long the counter
// waits at most, which makes cells shorter. Where the counter fails (it stands still, jumps, begins
// anew), the power readings stand in, with wider bounds.
#ifndef GAIT_ANALYSE_ENERGY_SERIES_H
#define GAIT_ANALYSE_ENERGY_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#include "analyse/time/intervals.h"

struct energy_reading {
    int64_t at_ns, value;
};

enum { ENERGY_MOST_READINGS = 1 << 17 }; // 3.6 hours at 10 Hz; of more every second one goes

struct energy_readings { // in order of time
    struct energy_reading *rows;
    size_t count, capacity;
    uint64_t seen, stride; // one in `stride` is kept, and the newest
};

// A reading that is earlier than the newest is left out.
GAIT_CHECK int energy_readings_add(struct energy_readings *readings, int64_t at_ns, int64_t value);
void energy_readings_finish(struct energy_readings *readings);

struct energy_source {
    struct energy_readings counter, power; // uJ, mW; either may be empty
    int64_t range_uj, limit_mw, averaging_ns;
};

struct energy_cell {
    int64_t start_ns, end_ns; // all of the energy was used between these
    int64_t from_ns, to_ns;   // and most likely between these; cells join here
    double joules, low, high;
};

struct energy_series {
    struct energy_cell *cells;
    size_t count, capacity;
    int64_t first_ns, last_ns; // readings there are
    bool has_counter;          // power alone, otherwise
    uint64_t wraps, resets, jumps;
    uint64_t stuck_ns; // the counter stood still while power was used
};

struct energy {
    double joules, low, high; // it lies between these
    uint64_t measured_ns;     // of the time that was asked for
};

GAIT_CHECK int energy_series_make(struct energy_series *series, const struct energy_source *source);
void energy_series_finish(struct energy_series *series); // takes NULL and a zeroed struct

// Of times that are in order and apart from each other.
struct energy energy_series_of(const struct energy_series *series, const struct interval *times,
                               size_t count);

void energy_add(struct energy *sum, const struct energy *more);
double energy_error(const struct energy *energy); // the larger of the two, in joules

// The power readings' integral, in joules; NAN where there are less than two in that time.
double energy_power_integral(const struct energy_readings *power, const struct interval *time);

#endif
