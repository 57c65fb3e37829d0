// SPDX-License-Identifier: Apache-2.0
#include "render/picture/plot_svg.h"

#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "render/markup_text.h"
#include "render/picture/chart.h"
#include "render/picture/plot_axis.h"
#include "render/plain.h"

// In units of the picture.
enum {
    HEIGHT = 400,
    LEFT = 82,
    RIGHT = CHART_WIDTH - 24,
    TOP = 12,
    BOTTOM = HEIGHT - 58,
    LEGEND_ROW = 22,
    LEGEND_MARK = 34,
    LEGEND_GAP = 22,
    LEGEND_COLUMNS = 40, // of a name
    LETTER = 8,          // how wide one is, about
    COLOURS = 8,
    WORDS_APART = 26, // ticks closer than this lose their words
    BAR_WORDS = 34,   // bars narrower than this have no figure over them
};

static const char *const colours[COLOURS] = {"#0b62c4", "#b35900", "#1a7f37", "#8250df",
                                             "#cf222e", "#0e7490", "#9a6700", "#57606a"};

struct drawing {
    FILE *out;
    const struct plot *plot;
    struct plot_axis x, y;
    double *groups; // of bars: their values of x, in order
    size_t group_count;
    size_t left_out; // values that have no place
};

static bool is_lines(const struct plot *plot)
{
    return plot->kind == PLOT_LINES;
}

static enum plot_scale y_scale(const struct plot *plot)
{
    if (plot->kind == PLOT_LINES)
        return plot->y_axis == PLOT_Y_DOUBLINGS ? AXIS_DOUBLINGS : AXIS_DECADES;
    return plot->kind == PLOT_STACKS ? AXIS_SHARES : AXIS_FROM_ZERO;
}

static bool has_place(const struct drawing *drawing, const struct plot_point *point)
{
    return plot_axis_takes(AXIS_GIVEN, point->x) && plot_axis_takes(drawing->y.scale, point->y);
}

static void put_text(FILE *out, double x, double y, const char *attributes, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, attributes);
    markup_put(out, text);
    fputs("</text>\n", out);
}

// What follows has the colour of the line of that number, until </g>.
static void begin_line(const struct drawing *drawing, size_t number)
{
    const struct plot_line *line = &drawing->plot->lines[number];
    if (line->is_ideal)
        fputs("<g class=\"ideal\" color=\"#57606a\">\n", drawing->out);
    else
        fprintf(drawing->out, "<g class=\"c%zu\" color=\"%s\">\n", number % COLOURS,
                colours[number % COLOURS]);
}

// --- what there is to span ----------------------------------------------------------------

struct span {
    double low, high;
};

static void widen(struct span *span, double value)
{
    span->low = fmin(span->low, value);
    span->high = fmax(span->high, value);
}

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static void join_groups(struct drawing *drawing)
{
    size_t kept = 0;
    if (drawing->group_count)
        qsort(drawing->groups, drawing->group_count, sizeof *drawing->groups, by_value);
    for (size_t i = 0; i < drawing->group_count; i++)
        if (!kept || drawing->groups[kept - 1] != drawing->groups[i])
            drawing->groups[kept++] = drawing->groups[i];
    drawing->group_count = kept;
}

static int find_spans(struct drawing *drawing, struct span *x, struct span *y)
{
    size_t count = 0;
    for (size_t i = 0; i < drawing->plot->count; i++)
        count += drawing->plot->lines[i].count;
    drawing->groups = malloc((count + 1) * sizeof *drawing->groups);
    if (!drawing->groups)
        return fail(GAIT_ERR_MEMORY, "no memory for a plot of %zu points", count);
    for (size_t i = 0; i < drawing->plot->count; i++) {
        const struct plot_line *line = &drawing->plot->lines[i];
        for (size_t k = 0; k < line->count; k++) {
            const struct plot_point *point = &line->points[k];
            if (!has_place(drawing, point)) {
                drawing->left_out++;
                continue;
            }
            drawing->groups[drawing->group_count++] = point->x;
            widen(x, point->x);
            widen(y, point->y);
            if (plot_axis_takes(drawing->y.scale, point->low))
                widen(y, point->low);
            if (plot_axis_takes(drawing->y.scale, point->high))
                widen(y, point->high);
        }
    }
    join_groups(drawing);
    return GAIT_OK;
}

// --- axes ---------------------------------------------------------------------------------

static void put_y_axis(const struct drawing *drawing)
{
    FILE *out = drawing->out;
    double last = HEIGHT;
    for (size_t i = 0; i < drawing->y.count; i++) {
        const struct plot_tick *tick = &drawing->y.ticks[i];
        const double y = plot_axis_place(&drawing->y, tick->value);
        fprintf(out, "<path class=\"%s\" stroke=\"%s\" d=\"M%d %.1fH%d\"/>\n",
                tick->is_fine ? "fine" : "grid", tick->is_fine ? "#eceff2" : "#d8dee4", LEFT, y,
                RIGHT);
        if (tick->is_fine || last - y < WORDS_APART / 2.0)
            continue;
        put_text(out, LEFT - 8, y + 5, " class=\"soft ytick\" fill=\"#57606a\" text-anchor=\"end\"",
                 plot_axis_text(&drawing->y, tick->value).text);
        last = y;
    }
    fprintf(out,
            "<text class=\"soft\" fill=\"#57606a\" text-anchor=\"middle\" "
            "transform=\"translate(18 %.1f) rotate(-90)\">",
            drawing->y.start + drawing->y.length / 2);
    markup_put(out, drawing->plot->y_label);
    fputs("</text>\n", out);
}

static double group_place(const struct drawing *drawing, size_t group)
{
    if (is_lines(drawing->plot))
        return plot_axis_place(&drawing->x, drawing->groups[group]);
    return LEFT + (RIGHT - LEFT) * ((double)group + 0.5) / (double)drawing->group_count;
}

static void put_x_axis(const struct drawing *drawing)
{
    FILE *out = drawing->out;
    double last = -HEIGHT;
    for (size_t i = 0; i < drawing->group_count; i++) {
        const double x = group_place(drawing, i);
        const struct plot_text text = plot_axis_text(&drawing->x, drawing->groups[i]);
        if (is_lines(drawing->plot))
            fprintf(out, "<path class=\"grid\" stroke=\"#d8dee4\" d=\"M%.1f %.1fV%.1f\"/>\n", x,
                    drawing->y.start, drawing->y.start + drawing->y.length);
        if (x - last < WORDS_APART)
            continue;
        put_text(out, x, BOTTOM + 20,
                 " class=\"soft xtick\" fill=\"#57606a\" text-anchor=\"middle\"", text.text);
        last = x;
    }
    fprintf(out, "<path class=\"axis\" stroke=\"#57606a\" fill=\"none\" d=\"M%d %.1fV%dH%d\"/>\n",
            LEFT, drawing->y.start + drawing->y.length, BOTTOM, RIGHT);
    put_text(out, (LEFT + RIGHT) / 2.0, BOTTOM + 44,
             " class=\"soft\" fill=\"#57606a\" text-anchor=\"middle\"", drawing->plot->x_label);
}

// --- lines --------------------------------------------------------------------------------

// A mark of so many shapes, so that lines differ without colour.
static void put_mark(FILE *out, size_t number, double x, double y)
{
    static const char *const shapes[COLOURS] = {"M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0Z",
                                                "M-4.5 -4.5h9v9h-9Z",
                                                "M0 -6L6 5H-6Z",
                                                "M0 -6.5L6.5 0L0 6.5L-6.5 0Z",
                                                "M0 6L6 -5H-6Z",
                                                "M-6 -2h4v-4h4v4h4v4h-4v4h-4v-4h-4Z",
                                                "M-6 0L4 -6V6Z",
                                                "M6 0L-4 -6V6Z"};
    fprintf(out,
            "<path class=\"ink mark\" fill=\"currentColor\" transform=\"translate(%.1f %.1f)\" "
            "d=\"%s\"/>\n",
            x, y, shapes[number % COLOURS]);
}

static void put_whisker(const struct drawing *drawing, const struct plot_point *point, double x)
{
    if (!(point->high > point->low) || !isfinite(point->high) || !isfinite(point->low))
        return;
    const double low = plot_axis_place(&drawing->y, point->low);
    const double high = plot_axis_place(&drawing->y, point->high);
    fprintf(drawing->out,
            "<path class=\"whisker\" fill=\"none\" stroke=\"#1b1f24\" stroke-width=\"1.5\" "
            "d=\"M%.1f %.1fV%.1fM%.1f %.1fh10M%.1f %.1fh10\"/>\n",
            x, low, high, x - 5, low, x - 5, high);
}

static void put_line(const struct drawing *drawing, size_t number)
{
    const struct plot_line *line = &drawing->plot->lines[number];
    char joint = 'M';
    fprintf(drawing->out,
            "<path class=\"line\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\"%s d=\"",
            line->is_ideal ? " stroke-dasharray=\"6 5\"" : "");
    for (size_t i = 0; i < line->count; i++) {
        if (!has_place(drawing, &line->points[i]))
            continue;
        fprintf(drawing->out, "%c%.1f %.1f", joint, plot_axis_place(&drawing->x, line->points[i].x),
                plot_axis_place(&drawing->y, line->points[i].y));
        joint = 'L';
    }
    fputs("\"/>\n", drawing->out);
    for (size_t i = 0; i < line->count && !line->is_ideal; i++) {
        const struct plot_point *point = &line->points[i];
        const double x = plot_axis_place(&drawing->x, point->x);
        if (!has_place(drawing, point))
            continue;
        put_whisker(drawing, point, x);
        put_mark(drawing->out, number, x, plot_axis_place(&drawing->y, point->y));
    }
}

// --- bars ---------------------------------------------------------------------------------

static void put_hatch(const struct drawing *drawing, size_t number)
{
    fprintf(drawing->out,
            "<pattern id=\"hatch-%s-%zu\" width=\"8\" height=\"8\" "
            "patternUnits=\"userSpaceOnUse\"><path d=\"M-2 2l4 -4M0 8L8 0M6 10l4 -4\" "
            "stroke=\"currentColor\" stroke-opacity=\".6\"/></pattern>\n",
            drawing->plot->key, number);
}

static void put_bar(const struct drawing *drawing, const struct plot_point *point, double x,
                    size_t number)
{
    const bool is_stack = drawing->plot->kind == PLOT_STACKS;
    const double width =
        0.8 * (RIGHT - LEFT) / (double)(drawing->group_count * drawing->plot->count);
    const double wide = fmin(width, 90) * 0.92, left = x - wide / 2;
    const double y = plot_axis_place(&drawing->y, point->y), floor = BOTTOM;
    char words[32];
    fprintf(drawing->out,
            "<rect class=\"ink\" fill=\"currentColor\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
            "height=\"%.1f\"/>\n",
            left, y, wide, floor - y);
    if (is_stack) {
        const double top = plot_axis_place(&drawing->y, 1);
        fprintf(drawing->out,
                "<rect class=\"rest\" fill=\"url(#hatch-%s-%zu)\" stroke=\"currentColor\" "
                "x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
                drawing->plot->key, number, left, top, wide, fmax(y - top, 0));
    } else {
        put_whisker(drawing, point, x);
    }
    snprintf(words, sizeof words, is_stack ? "%.1f %%" : "%.3g",
             is_stack ? 100 * point->y : point->y);
    const double top = is_stack ? BOTTOM + drawing->y.length
                                : plot_axis_place(&drawing->y, fmax(point->y, point->high));
    if (wide >= BAR_WORDS)
        put_text(drawing->out, x, top - 5,
                 " class=\"small figure\" fill=\"#1b1f24\" font-size=\"12\" text-anchor=\"middle\"",
                 words);
}

static void put_bars(const struct drawing *drawing, size_t number)
{
    const struct plot_line *line = &drawing->plot->lines[number];
    const double all = (double)drawing->plot->count;
    const double width = fmin(0.8 * (RIGHT - LEFT) / ((double)drawing->group_count * all), 90);
    if (drawing->plot->kind == PLOT_STACKS)
        put_hatch(drawing, number);
    for (size_t i = 0; i < line->count; i++) {
        const struct plot_point *point = &line->points[i];
        for (size_t group = 0; group < drawing->group_count && has_place(drawing, point); group++)
            if (drawing->groups[group] == point->x)
                put_bar(drawing, point,
                        group_place(drawing, group) + ((double)number - (all - 1) / 2) * width,
                        number);
    }
}

// --- all of it ----------------------------------------------------------------------------

static double legend_width(const char *name)
{
    return LEGEND_MARK + LETTER * (double)plain_width(name, LEGEND_COLUMNS) + LEGEND_GAP;
}

static void put_legend_name(FILE *out, double x, double y, const char *name)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"legend\">", x + LEGEND_MARK, y + 5);
    markup_put_middle(out, name, LEGEND_COLUMNS);
    fputs("</text>\n", out);
}

static void put_sample(const struct drawing *drawing, size_t number, double x, double y)
{
    const struct plot_line *line = &drawing->plot->lines[number];
    begin_line(drawing, number);
    if (!is_lines(drawing->plot)) {
        fprintf(drawing->out,
                "<rect class=\"ink\" fill=\"currentColor\" x=\"%.1f\" y=\"%.1f\" width=\"22\" "
                "height=\"12\"/>\n",
                x, y - 6);
    } else {
        fprintf(drawing->out,
                "<path fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\"%s "
                "d=\"M%.1f %.1fh26\"/>\n",
                line->is_ideal ? " stroke-dasharray=\"6 5\"" : "", x, y);
        if (!line->is_ideal)
            put_mark(drawing->out, number, x + 13, y);
    }
    fputs("</g>\n", drawing->out);
    put_legend_name(drawing->out, x, y, line->name);
}

static void put_rest_sample(const struct drawing *drawing, double x, double y)
{
    begin_line(drawing, 0);
    fprintf(drawing->out,
            "<rect class=\"rest\" fill=\"url(#hatch-%s-0)\" stroke=\"currentColor\" x=\"%.1f\" "
            "y=\"%.1f\" width=\"22\" height=\"12\"/>\n</g>\n",
            drawing->plot->key, x, y - 6);
    put_legend_name(drawing->out, x, y, drawing->plot->rest);
}

// Gives how much room it needs; `draws` false: that alone.
static double put_legend(const struct drawing *drawing, bool draws)
{
    double x = LEFT, y = TOP + LEGEND_ROW / 2.0;
    const size_t all = drawing->plot->count + (drawing->plot->kind == PLOT_STACKS);
    for (size_t i = 0; i < all; i++) {
        const bool is_rest = i == drawing->plot->count;
        const double width =
            legend_width(is_rest ? drawing->plot->rest : drawing->plot->lines[i].name);
        if (x > LEFT && x + width > RIGHT) {
            x = LEFT;
            y += LEGEND_ROW;
        }
        if (draws && is_rest)
            put_rest_sample(drawing, x, y);
        else if (draws)
            put_sample(drawing, i, x, y);
        x += width;
    }
    return y + LEGEND_ROW;
}

static void put_note(const struct drawing *drawing)
{
    char text[120];
    if (!drawing->left_out)
        return;
    snprintf(text, sizeof text, "%zu value%s without a place on these axes left out",
             drawing->left_out, drawing->left_out == 1 ? "" : "s");
    put_text(drawing->out, RIGHT, HEIGHT - 4,
             " class=\"soft small note\" fill=\"#57606a\" font-size=\"12\" text-anchor=\"end\"",
             text);
}

static void draw(struct drawing *drawing, const struct span *x, const struct span *y)
{
    const double top = put_legend(drawing, false) + (is_lines(drawing->plot) ? 0 : 12);
    drawing->x.start = LEFT;
    drawing->x.length = RIGHT - LEFT;
    drawing->y.start = BOTTOM;
    drawing->y.length = fmin(top, BOTTOM - 100) - BOTTOM;
    plot_axis_span(&drawing->x, x->low, x->high);
    plot_axis_span(&drawing->y, y->low, y->high);
    put_y_axis(drawing);
    put_x_axis(drawing);
    for (size_t i = 0; i < drawing->plot->count; i++) {
        begin_line(drawing, i);
        if (is_lines(drawing->plot))
            put_line(drawing, i);
        else
            put_bars(drawing, i);
        fputs("</g>\n", drawing->out);
    }
    (void)put_legend(drawing, true);
    put_note(drawing);
}

int plot_put(FILE *out, const struct plot *plot, bool is_file)
{
    struct drawing drawing = {
        .out = out, .plot = plot, .x.scale = AXIS_GIVEN, .y.scale = y_scale(plot)};
    struct span x = {INFINITY, -INFINITY}, y = {INFINITY, -INFINITY};
    const int status = find_spans(&drawing, &x, &y);
    if (status)
        return status;
    chart_begin(out, plot->heading, HEIGHT, is_file);
    if (drawing.group_count)
        draw(&drawing, &x, &y);
    else
        put_text(out, LEFT, TOP + LEGEND_ROW, "", "nothing of this has a place on the axes");
    fputs("</svg>\n", out);
    free(drawing.groups);
    return GAIT_OK;
}
