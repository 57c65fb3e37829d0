// SPDX-License-Identifier: Apache-2.0
// Powers are counted in whole numbers, with room for the last digit of a logarithm: 1000 is
// ten to the third, whatever log10() says. An axis of one value is given room on both sides.
#include "render/picture/plot_axis.h"

#include <math.h>
#include <stdio.h>

enum { MOST_WORDS = 9, FEW_DECADES = 3 };
static const double digit = 1e-9, most_value = 1e300, least_value = 1e-300;

static bool is_logarithm(enum plot_scale scale)
{
    return scale <= AXIS_GIVEN;
}

bool plot_axis_takes(enum plot_scale scale, double value)
{
    if (!isfinite(value) || value > most_value)
        return false;
    return is_logarithm(scale) ? value >= least_value : value >= 0;
}

void plot_axis_add(struct plot_axis *axis, double value, bool is_fine)
{
    if (axis->count < PLOT_MOST_TICKS)
        axis->ticks[axis->count++] = (struct plot_tick){value, is_fine};
}

// 2 and 5 have words where there are few decades, and all others thin lines.
static void add_between(struct plot_axis *axis, double decade, int decades)
{
    for (int i = 2; i <= 9 && decades <= FEW_DECADES; i++)
        plot_axis_add(axis, decade * i, decades > 2 || (i != 2 && i != 5));
}

static void span_powers(struct plot_axis *axis, double low, double high, double base)
{
    const double whole = log(base);
    int first = (int)floor(log(low) / whole + digit), last = (int)ceil(log(high) / whole - digit);
    if (first >= last) {
        last = first + 1; // one value, which is a power
        first -= base < 10;
    }
    const int stride = (last - first) / MOST_WORDS + 1;
    axis->low = pow(base, first);
    axis->high = pow(base, last);
    for (int i = first; i <= last; i++) {
        if ((i - first) % stride == 0)
            plot_axis_add(axis, pow(base, i), false);
        if (base == 10 && i < last)
            add_between(axis, pow(base, i), last - first);
    }
}

// To a round number, in steps of 1, 2 or 5 of a power of ten.
static void span_from_zero(struct plot_axis *axis, double high)
{
    const double rough = (high > 0 ? high : 1) / 5, power = pow(10, floor(log10(rough) + digit));
    const double part = rough / power;
    const double step = power * (part <= 1 + digit ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
    const int steps = (int)ceil((high > 0 ? high : 1) / step - digit);
    axis->low = 0;
    axis->high = step * steps;
    for (int i = 0; i <= steps; i++)
        plot_axis_add(axis, step * i, false);
}

void plot_axis_span(struct plot_axis *axis, double low, double high)
{
    const double room = low < high ? pow(high / low, 0.06) : 2;
    axis->count = 0;
    if (axis->scale == AXIS_DECADES || axis->scale == AXIS_DOUBLINGS) {
        span_powers(axis, low, high, axis->scale == AXIS_DECADES ? 10 : 2);
    } else if (axis->scale == AXIS_GIVEN) {
        axis->low = low / room;
        axis->high = high * room;
    } else {
        span_from_zero(axis, axis->scale == AXIS_SHARES ? 1 : high);
    }
}

double plot_axis_place(const struct plot_axis *axis, double value)
{
    const bool is_log = is_logarithm(axis->scale);
    const double low = is_log ? log(axis->low) : axis->low;
    const double high = is_log ? log(axis->high) : axis->high;
    const double at = is_log ? log(fmax(value, least_value)) : value;
    const double part = fmin(fmax((at - low) / (high - low), 0), 1);
    return axis->start + part * axis->length;
}

struct plot_text plot_axis_text(const struct plot_axis *axis, double value)
{
    struct plot_text out;
    if (axis->scale == AXIS_SHARES)
        snprintf(out.text, sizeof out.text, "%.0f %%", 100 * value);
    else
        snprintf(out.text, sizeof out.text, "%.10g", value);
    return out;
}
