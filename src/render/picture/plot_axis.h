// SPDX-License-Identifier: Apache-2.0
// An axis of a plot: which values it spans, where they lie, and what its ticks are called.
#ifndef GAIT_RENDER_PLOT_AXIS_H
#define GAIT_RENDER_PLOT_AXIS_H

#include <stdbool.h>
#include <stddef.h>

enum plot_scale {
    AXIS_DECADES,   // logarithm: from one power of ten to another
    AXIS_DOUBLINGS, // logarithm: from one power of two to another
    AXIS_GIVEN,     // logarithm: as wide as the values, which are its ticks
    AXIS_FROM_ZERO,
    AXIS_SHARES, // 0 to 1
};

enum { PLOT_MOST_TICKS = 64 };

struct plot_tick {
    double value;
    bool is_fine; // a thin line without words
};

struct plot_axis {
    enum plot_scale scale;
    double low, high;     // values
    double start, length; // of the picture; a negative length goes up
    struct plot_tick ticks[PLOT_MOST_TICKS];
    size_t count;
};

// Whether a value has a place on an axis of that scale.
bool plot_axis_takes(enum plot_scale scale, double value);

// Spans values from `low` to `high`, which have their place. Of AXIS_GIVEN the caller adds
// the ticks.
void plot_axis_span(struct plot_axis *axis, double low, double high);
void plot_axis_add(struct plot_axis *axis, double value, bool is_fine);

// Where a value lies; one beyond the axis lies at its end.
double plot_axis_place(const struct plot_axis *axis, double value);

struct plot_text {
    char text[24];
};
struct plot_text plot_axis_text(const struct plot_axis *axis, double value);

#endif
