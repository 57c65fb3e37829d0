// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "render/picture/chart.h"

#include <inttypes.h>
#include <stdlib.h>

#include "answer/people_rows.h"
#include "render/markup_text.h"
#include "render/picture/plot_svg.h"

// All in units of the picture, which are pixels where it is as wide as it was drawn.
enum {
    WIDTH = CHART_WIDTH,
    HEAD = 34, // of a file: its heading
    CURVE_HEIGHT = 196,
    CURVE_TOP = 28,
    CURVE_BOTTOM = 32,
    LINES = 4, // of the grid
    ROW = 26,
    NAME_END = 250,
    NAME_COLUMNS = 30,
    NUMBER = 92, // a column of numbers
    GAP = 14,
};

// Colours and fonts stand in attributes, too, for viewers without CSS variables.
void chart_begin(FILE *out, const char *heading, unsigned height, bool is_file)
{
    const unsigned head = is_file ? HEAD : 0;
    fprintf(out,
            "<svg class=\"chart\" viewBox=\"0 -%u %d %u\" font-family=\"sans-serif\" "
            "font-size=\"14\" fill=\"#1b1f24\" role=\"img\" aria-label=\"",
            head, WIDTH, height + head);
    markup_put(out, heading);
    fputs("\"", out);
    if (!is_file) {
        fputs(">\n", out);
        return;
    }
    fprintf(out, " xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\">\n<style>\n%s",
            WIDTH, height + head, chart_css);
    fprintf(
        out,
        "</style>\n<rect class=\"paper\" fill=\"#ffffff\" y=\"-%u\" width=\"%d\" height=\"%u\"/>\n"
        "<text class=\"head\" font-weight=\"600\" font-size=\"16\" x=\"2\" y=\"-12\">",
        head, WIDTH, height + head);
    markup_put(out, heading);
    fputs("</text>\n", out);
}

static void put_text(FILE *out, double x, double y, const char *attributes, const char *text)
{
    fprintf(out, "<text x=\"%.0f\" y=\"%.0f\"%s>", x, y, attributes);
    markup_put(out, text);
    fputs("</text>\n", out);
}

// --- curves ----------------------------------------------------------------------------

struct extent {
    int64_t first, last, most;
};

static struct extent extent_of(const struct node *node)
{
    struct extent extent = {node->points[0].x, node->points[0].x, 1};
    const bool is_counted = node->series->x_unit == UNIT_COUNT; // a point is as wide as one
    for (size_t i = 0; i < node->count; i++) {
        const struct point *point = &node->points[i];
        extent.last = point->x > extent.last ? point->x : extent.last;
        extent.first = point->x < extent.first ? point->x : extent.first;
        extent.most = point->y > extent.most ? point->y : extent.most;
    }
    extent.last += is_counted && extent.last < INT64_MAX;
    return extent;
}

static double across(const struct extent *extent, int64_t x)
{
    const double whole = (double)extent->last - (double)extent->first;
    return whole > 0 ? ((double)x - (double)extent->first) / whole * WIDTH : 0;
}

static double above(const struct extent *extent, int64_t y)
{
    const double room = CURVE_HEIGHT - CURVE_TOP - CURVE_BOTTOM;
    return CURVE_HEIGHT - CURVE_BOTTOM - (double)y / (double)extent->most * room;
}

// A value holds until the next one: stairs.
static void put_path(FILE *out, const struct node *node, const struct extent *extent)
{
    const double ground = CURVE_HEIGHT - CURVE_BOTTOM;
    fprintf(out, "<path class=\"area\" d=\"M%.1f %.1f", across(extent, node->points[0].x), ground);
    for (size_t i = 0; i < node->count; i++) {
        const double y = above(extent, node->points[i].y > 0 ? node->points[i].y : 0);
        fprintf(out, "L%.1f %.1f", across(extent, node->points[i].x), y);
        if (i + 1 < node->count)
            fprintf(out, "H%.1f", across(extent, node->points[i + 1].x));
    }
    fprintf(out, "H%dV%.1fZ\"/>\n", WIDTH, ground);
}

static void put_curve(FILE *out, const struct node *node, bool is_file)
{
    static const char end[] = " class=\"soft\" text-anchor=\"end\"", start[] = " class=\"soft\"";
    const struct extent extent = extent_of(node);
    const struct value span = value_int((int64_t)((uint64_t)extent.last - (uint64_t)extent.first));
    char most[VALUE_TEXT_BYTES], length[VALUE_TEXT_BYTES], text[2 * VALUE_TEXT_BYTES + 64];
    const char *top = value_show(value_int(extent.most), node->series->y_unit, VALUE_WHOLE, most);
    const char *wide = value_show(span, node->series->x_unit, VALUE_WHOLE, length);
    char *heading = NULL;
    if (asprintf(&heading, "%s: at most %s within %s%s", node->label, top, wide,
                 node->series->x_noun) < 0)
        heading = NULL;
    chart_begin(out, heading ? heading : node->label, CURVE_HEIGHT, is_file);
    free(heading);
    for (int i = 0; i <= LINES; i++) {
        const double y = above(&extent, 0) - (above(&extent, 0) - CURVE_TOP) * i / LINES;
        fprintf(out, "<path class=\"grid\" d=\"M0 %.1fH%d\"/>\n", y, WIDTH);
    }
    put_path(out, node, &extent);
    put_text(out, 2, CURVE_TOP - 7, start, top);
    put_text(out, 2, CURVE_HEIGHT - 9, start, "0");
    snprintf(text, sizeof text, "%s%s", wide, node->series->x_noun);
    put_text(out, WIDTH - 2, CURVE_HEIGHT - 9, end, text);
    fputs("</svg>\n", out);
}

// --- bars ------------------------------------------------------------------------------

struct bars {
    FILE *out;
    const struct table *table;
    const struct people_rows *rows;
    size_t name, bar; // columns
    double end;       // where bars end and numbers begin
};

static bool is_number(const struct bars *bars, size_t column)
{
    const char *label = bars->table->columns[column].label;
    return column != bars->name && column != bars->bar && label && *label;
}

static struct bars lay_out(FILE *out, const struct node *node, const struct people_rows *rows)
{
    struct bars bars = {.out = out, .table = node->table, .rows = rows};
    const struct column *columns = node->table->columns;
    double end = WIDTH;
    while (!columns[bars.name].label)
        bars.name++;
    while (!(columns[bars.bar].flags & COLUMN_BAR))
        bars.bar++;
    for (size_t i = 0; i < node->table->count; i++)
        end -= is_number(&bars, i) ? NUMBER : 0;
    bars.end = end > NAME_END + NUMBER ? end : NAME_END + NUMBER;
    return bars;
}

static void put_numbers(const struct bars *bars, const struct value *cells, double y)
{
    double x = bars->end;
    for (size_t i = 0; i < bars->table->count; i++) {
        const struct column *column = &bars->table->columns[i];
        char room[VALUE_TEXT_BYTES];
        if (!is_number(bars, i))
            continue;
        x += NUMBER;
        put_text(bars->out, x - 2, y,
                 cells ? " text-anchor=\"end\"" : " class=\"soft\" text-anchor=\"end\"",
                 cells ? value_show(people_rows_cell(bars->table, cells, i), column->unit,
                                    VALUE_SHORT, room)
                       : column->label);
    }
}

static void put_name(const struct bars *bars, const char *name, double y)
{
    fprintf(bars->out, "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">", NAME_END, y);
    markup_put_middle(bars->out, name, NAME_COLUMNS);
    fputs("</text>\n", bars->out);
}

static void put_bar_row(const struct bars *bars, const struct value *cells, size_t row)
{
    const double y = ROW * (double)(row + 1);
    const double share = people_rows_bar(bars->rows, cells[bars->bar]);
    const double whole = bars->end - NAME_END - 2 * GAP;
    char room[VALUE_TEXT_BYTES];
    const struct value name = people_rows_cell(bars->table, cells, bars->name);
    put_name(bars, value_show(name, bars->table->columns[bars->name].unit, VALUE_SHORT, room),
             y + 18);
    if (share > 0)
        fprintf(bars->out,
                "<rect class=\"bar\" x=\"%d\" y=\"%.0f\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>\n",
                NAME_END + GAP, y + 5, share * whole, ROW - 9);
    put_numbers(bars, cells, y + 18);
}

static int put_bars(FILE *out, const struct node *nodes, size_t at, bool is_file)
{
    const struct node *node = &nodes[at];
    struct people_rows rows;
    int status = people_rows_choose(nodes, at, &rows);
    if (status)
        return status;
    const struct bars bars = lay_out(out, node, &rows);
    chart_begin(out, node->label, (unsigned)(ROW * (rows.count + 1) + GAP), is_file);
    put_numbers(&bars, NULL, 18);
    for (size_t i = 0; i < rows.count; i++)
        if (rows.rows[i].cells)
            put_bar_row(&bars, rows.rows[i].cells, i);
    fputs("</svg>\n", out);
    people_rows_finish(&rows);
    return GAIT_OK;
}

bool chart_can_draw(const struct node *node)
{
    if (node->kind == NODE_SERIES)
        return node->label && node->count;
    if (node->kind == NODE_PLOT)
        return node->label;
    if (node->kind != NODE_TABLE || !node->label)
        return false;
    for (size_t i = 0; i < node->table->count; i++)
        if (node->table->columns[i].flags & COLUMN_BAR)
            return true;
    return false;
}

int chart_put(FILE *out, const struct node *nodes, size_t at, bool is_file)
{
    if (nodes[at].kind == NODE_TABLE)
        return put_bars(out, nodes, at, is_file);
    if (nodes[at].kind == NODE_PLOT)
        return plot_put(out, nodes[at].plot, is_file);
    put_curve(out, &nodes[at], is_file);
    return GAIT_OK;
}
