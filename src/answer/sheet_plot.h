// SPDX-License-Identifier: Apache-2.0
// A picture with axes as data: lines over numbers, or bars over groups. It is for people:
// what it shows stands in the tables of the same sheet.
#ifndef GAIT_ANSWER_SHEET_PLOT_H
#define GAIT_ANSWER_SHEET_PLOT_H

#include <stdbool.h>
#include <stddef.h>

struct sheet;

enum plot_kind {
    PLOT_LINES,  // both axes are logarithms
    PLOT_BARS,   // side by side in the groups, from 0
    PLOT_STACKS, // the same of shares of 1: the rest up to 1 is hatched
};

enum plot_y { PLOT_Y_DECADES, PLOT_Y_DOUBLINGS }; // of lines: what the axis counts in

struct plot_point {
    double x, y;
    double low, high; // a whisker; both y: none
};

struct plot_line {
    const char *name;
    const struct plot_point *points; // in order of x
    size_t count;
    bool is_ideal; // dashed, without marks
};

struct plot {
    const char *key, *heading;
    const char *x_label, *y_label;
    enum plot_kind kind;
    enum plot_y y_axis;
    const char *rest; // of stacks: what the hatched rest is
    const struct plot_line *lines;
    size_t count;
};

// The sheet keeps a copy of all of it.
void sheet_plot(struct sheet *sheet, const struct plot *plot);

#endif
