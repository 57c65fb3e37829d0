// SPDX-License-Identifier: Apache-2.0
// A curve, the bars of a table or a plot as SVG: for a page that holds it, or a file of its own.
// No script, no address; light and dark as the reader's system is, fit for print.
#ifndef GAIT_RENDER_CHART_H
#define GAIT_RENDER_CHART_H

#include <stdbool.h>
#include <stdio.h>

#include <gait/error.h>

#include "answer/sheet_nodes.h"

extern const char chart_css[]; // the text of chart.css

// Begins a picture of that height; its width is CHART_WIDTH. `is_file`: it stands for itself,
// with its look and heading.
enum { CHART_WIDTH = 900 };
void chart_begin(FILE *out, const char *heading, unsigned height, bool is_file);

// Whether there is a picture of it: a series with points, a table with a column of bars, a plot.
bool chart_can_draw(const struct node *node);

// Draws it as an element.
GAIT_CHECK int chart_put(FILE *out, const struct node *nodes, size_t at, bool is_file);

#endif
