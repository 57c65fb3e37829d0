// SPDX-License-Identifier: Apache-2.0
// The six plots of itwinai's report, under its names.
#include "answer/sheet_plot.h"

#include <math.h>
#include <stdlib.h>

#include "answer/scale/scale_answer.h"

enum figure { EPOCH, SPEEDUP, ENERGY, UTILISATION, OTHER, COMMUNICATION, FIGURES };

static const struct {
    struct plot plot;
    bool has_ideal;
} plots[FIGURES] = {
    [EPOCH] = {.plot = {.key = "absolute_epoch_time",
                        .heading = "Mean time of an epoch",
                        .y_label = "seconds an epoch",
                        .kind = PLOT_LINES}},
    [SPEEDUP] = {.plot = {.key = "relative_epoch_time_speedup",
                          .heading = "Speedup",
                          .y_label = "times as fast",
                          .kind = PLOT_LINES,
                          .y_axis = PLOT_Y_DOUBLINGS},
                 .has_ideal = true},
    [ENERGY] = {.plot = {.key = "gpu_energy_plot",
                         .heading = "Energy of a run",
                         .y_label = "Wh, mean of the runs",
                         .kind = PLOT_BARS}},
    [UTILISATION] = {.plot = {.key = "utilization_plot",
                              .heading = "Utilisation of the devices",
                              .y_label = "percent of the time busy",
                              .kind = PLOT_BARS}},
    [OTHER] = {.plot = {.key = "computation_vs_other_plot",
                        .heading = "Computation, and all other time",
                        .y_label = "share of the time",
                        .kind = PLOT_STACKS,
                        .rest = "other"}},
    [COMMUNICATION] = {.plot = {.key = "computation_vs_communication_plot",
                                .heading = "Computation and communication",
                                .y_label = "share of both",
                                .kind = PLOT_STACKS,
                                .rest = "communication"}},
};

const char *const scale_plot_names[] = {"absolute_epoch_time",
                                        "relative_epoch_time_speedup",
                                        "gpu_energy_plot",
                                        "utilization_plot",
                                        "computation_vs_other_plot",
                                        "computation_vs_communication_plot",
                                        NULL};

static struct plot_point of_figure(double workers, const struct scale_figure *figure)
{
    if (!figure->count)
        return (struct plot_point){workers, NAN, NAN, NAN};
    return (struct plot_point){workers, figure->mean, figure->low, figure->high};
}

static struct plot_point of_value(double workers, double value)
{
    return (struct plot_point){workers, value, value, value};
}

// NAN: the point has nothing of it.
static struct plot_point point_of(enum figure figure, const struct scale_point *point)
{
    const struct scale_shares *shares = &point->shares;
    const double both = shares->computation + shares->communication;
    switch (figure) {
    case EPOCH:
        return of_figure(point->workers, &point->time_s);
    case SPEEDUP:
        return of_value(point->workers, point->speedup > 0 ? point->speedup : NAN);
    case ENERGY:
        return of_figure(point->workers, &point->energy_wh);
    case UTILISATION:
        return of_figure(point->workers, &point->utilisation);
    case OTHER:
        return of_value(point->workers,
                        shares->total > 0 ? shares->computation / shares->total : NAN);
    default:
        return of_value(point->workers, both > 0 ? shares->computation / both : NAN);
    }
}

// Room for all lines and points of a plot.
struct lines {
    struct plot_line *lines;
    struct plot_point *points;
    size_t count, used;
};

static void add_series(struct lines *lines, enum figure figure, const struct scale_series *series)
{
    struct plot_line line = {.name = series->strategy, .points = lines->points + lines->used};
    const struct scale_point *base = series->base;
    if (figure == SPEEDUP && series->is_base_lent)
        lines->points[lines->used + line.count++] = of_value(base->workers, 1);
    for (size_t i = 0; i < series->count; i++) {
        const struct plot_point point = point_of(figure, &series->points[i]);
        if (!isnan(point.y))
            lines->points[lines->used + line.count++] = point;
    }
    lines->used += line.count;
    if (line.count)
        lines->lines[lines->count++] = line;
}

// As fast as there are workers, from the fewest to the most.
static void add_ideal(struct lines *lines, const struct scaling *scaling)
{
    double low = INFINITY, high = 0, base = INFINITY;
    for (size_t i = 0; i < scaling->count; i++) {
        const struct scale_series *series = &scaling->series[i];
        if (!series->base)
            continue;
        base = fmin(base, series->base->workers);
        low = fmin(low, series->base->workers);
        for (size_t k = 0; k < series->count; k++)
            high = series->points[k].speedup > 0 ? fmax(high, series->points[k].workers) : high;
    }
    if (!(high > low))
        return;
    struct plot_point *points = lines->points + lines->used;
    points[0] = of_value(low, low / base);
    points[1] = of_value(high, high / base);
    lines->lines[lines->count++] = (struct plot_line){"ideal", points, 2, true};
    lines->used += 2;
}

static void put_plot(struct sheet *sheet, const struct scaling *scaling, enum figure figure,
                     struct lines *lines)
{
    struct plot plot = plots[figure].plot;
    lines->count = lines->used = 0;
    for (size_t i = 0; i < scaling->count; i++)
        add_series(lines, figure, &scaling->series[i]);
    if (!lines->count)
        return;
    if (plots[figure].has_ideal)
        add_ideal(lines, scaling);
    if (figure == EPOCH && scaling->basis == SCALE_BY_STEP) {
        plot.heading = "Mean time of a step";
        plot.y_label = "seconds a step";
    }
    plot.x_label = "workers";
    plot.lines = lines->lines;
    plot.count = lines->count;
    sheet_plot(sheet, &plot);
}

void scale_plots_put(struct sheet *sheet, const struct scale_asked *asked)
{
    const struct scaling *scaling = asked->scaling;
    size_t points = 2;
    for (size_t i = 0; i < scaling->count; i++)
        points += scaling->series[i].count + 1;
    struct lines lines = {.lines = malloc((scaling->count + 1) * sizeof *lines.lines),
                          .points = malloc(points * sizeof *lines.points)};
    if (!lines.lines || !lines.points)
        sheet_say(sheet, SAY_ALERT, "there is no memory for the plots");
    else
        for (enum figure figure = 0; figure < FIGURES; figure++)
            if (figure != COMMUNICATION || asked->has_communication)
                put_plot(sheet, scaling, figure, &lines);
    free(lines.lines);
    free(lines.points);
}
