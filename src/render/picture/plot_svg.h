// SPDX-License-Identifier: Apache-2.0
// A plot as SVG, like the charts of chart.h: no script, no address, light and dark as the
// reader's system is. In print colours are greys, so lines have marks of their own.
#ifndef GAIT_RENDER_PLOT_SVG_H
#define GAIT_RENDER_PLOT_SVG_H

#include <stdbool.h>
#include <stdio.h>

#include <gait/error.h>

#include "answer/sheet_plot.h"

GAIT_CHECK int plot_put(FILE *out, const struct plot *plot, bool is_file);

#endif
