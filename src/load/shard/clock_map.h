// SPDX-License-Identifier: Apache-2.0
// From ticks of one clock to nanoseconds since the epoch (docs/FORMAT.md
// section 5). Exact in integers and never backwards, whatever the anchors say.
#ifndef GAIT_LOAD_CLOCK_MAP_H
#define GAIT_LOAD_CLOCK_MAP_H

#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

struct clock_point {
    uint64_t tick;
    int64_t raw_ns, real_ns;
};

// From `tick` on: ns = base_ns + floor((t - tick) * rise / run).
struct clock_segment {
    uint64_t tick;
    uint64_t width; // ticks for which the short arithmetic holds
    int64_t base_ns;
    uint64_t rise, run;
    uint64_t whole, part; // rise / run as whole + part / 2^64, rounded down
};

// All zero is a map whose ticks already are nanoseconds.
struct clock_map {
    struct clock_point *anchors; // in file order, until clock_map_build()
    size_t anchor_count, anchor_capacity;
    struct clock_segment *segments; // in order of tick
    size_t segment_count;
};

GAIT_CHECK int clock_map_add(struct clock_map *map, const struct clock_point *anchor);

// Makes the map from the anchors added. `tick_hz` (0: not known) serves when
// one anchor is all there is.
GAIT_CHECK int clock_map_build(struct clock_map *map, uint64_t tick_hz);
void clock_map_finish(struct clock_map *map); // takes NULL

int64_t clock_map_ns(const struct clock_map *map, uint64_t tick);

// The same for a whole column; `ret_ns` may be the column itself.
void clock_map_column(const struct clock_map *map, const uint64_t *ticks, size_t rows,
                      int64_t *ret_ns);

#endif
