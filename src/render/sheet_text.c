// SPDX-License-Identifier: Apache-2.0
// What has no label and no heading is not for people. Values that follow each other
// share a line: "  p50 8.11 ms   p95 9.02 ms".
#define _GNU_SOURCE
#include "render/sheet_text.h"

#include <stdlib.h>
#include <string.h>

#include "answer/people_rows.h"
#include "base/slice.h"
#include "render/plain.h"
#include "render/sheet_grid.h"
#include "render/verdict_text.h"

enum { INDENT = 2, BAR_COLUMNS = 14, WIDEST = PLAIN_COLUMNS / 2 };

struct text {
    FILE *out;
    const struct text_look *look;
    unsigned columns;       // of a line
    unsigned value_columns; // of the line of values that is open; 0: none is
};

static void put_bold(const struct text *text, const char *words)
{
    text_look_put_bold(text->look, words, text->out);
}

static void wrap(const struct text *text, const char *words, unsigned indent, unsigned at)
{
    plain_flow(text->out, words, (struct plain_room){text->columns, indent, at});
    fputc('\n', text->out);
}

static void end_values(struct text *text)
{
    if (text->value_columns)
        fputc('\n', text->out);
    text->value_columns = 0;
}

// --- single nodes ----------------------------------------------------------------------

static void put_title(const struct text *text, const struct node *node)
{
    if (!node->text)
        return;
    plain_put_all(text->out, node->label);
    fputc('\n', text->out);
    wrap(text, node->text, 0, 0);
}

static void put_section(const struct text *text, const struct node *node)
{
    const unsigned indent = plain_width(node->label, WIDEST) + 2;
    fputc('\n', text->out);
    put_bold(text, node->label);
    if (!node->text || !*node->text) {
        fputc('\n', text->out);
        return;
    }
    fputs("  ", text->out);
    wrap(text, node->text, indent, indent);
}

static void put_said(const struct text *text, const struct node *node)
{
    static const char *const starts[] = {[SAY_PARAGRAPH] = "  ",
                                         [SAY_ITEM] = "  ",
                                         [SAY_BULLET] = "  - ",
                                         [SAY_ALERT] = "",
                                         [SAY_LEAD] = ""};
    static const unsigned indents[] = {
        [SAY_PARAGRAPH] = 2, [SAY_ITEM] = 4, [SAY_BULLET] = 4, [SAY_ALERT] = 2, [SAY_LEAD] = 0};
    if (node->how == SAY_LINES) {
        plain_put_lines(text->out, node->text, "");
        return;
    }
    fputs(starts[node->how], text->out);
    wrap(text, node->text, indents[node->how], (unsigned)strlen(starts[node->how]));
}

static void put_value(struct text *text, const struct node *node)
{
    char room[VALUE_TEXT_BYTES];
    const char *words = value_show(node->value, node->unit, VALUE_WHOLE, room);
    const unsigned columns = plain_width(node->label, WIDEST) + 1 + plain_width(words, WIDEST) +
                             (node->text ? plain_width(node->text, WIDEST) + 3 : 0);
    if (text->value_columns + INDENT + 1 + columns > text->columns)
        end_values(text);
    const unsigned blanks = text->value_columns ? INDENT + 1 : INDENT;
    text->value_columns += blanks + columns;
    fprintf(text->out, "%*s", (int)blanks, "");
    plain_put_all(text->out, node->label);
    fputc(' ', text->out);
    plain_put_all(text->out, words);
    if (!node->text)
        return;
    fputs(" (", text->out);
    plain_put_all(text->out, node->text);
    fputc(')', text->out);
}

// --- tables ----------------------------------------------------------------------------

static void put_bar(FILE *out, double share)
{
    unsigned length = (unsigned)(share * BAR_COLUMNS + 0.5);
    if (!length)
        return;
    fputs("  ", out);
    while (length--)
        fputc('#', out);
}

enum { LEAST_PATH = 14 }; // columns, for less says nothing

// "name (path)" in so many columns: the name whole if it fits.
static void put_place(FILE *out, const char *words, unsigned columns)
{
    const char *path = slice_ends_with(slice_of(words), ")") ? strstr(words, " (") : NULL;
    char *name = strndup(words, path ? (size_t)(path - words) : strlen(words));
    const unsigned width = name ? plain_width(name, columns) : 0;
    if (!name || !path || width + LEAST_PATH > columns) {
        plain_put_middle(out, name ? name : words, columns, PLAIN_BARE);
    } else {
        char *inside = strndup(path + 2, strlen(path) - 3);
        plain_put_all(out, name);
        fputs(" (", out);
        plain_put_middle(out, inside ? inside : "", columns - width - 3, PLAIN_BARE);
        fputc(')', out);
        free(inside);
    }
    free(name);
}

// `at` is the column where they begin.
static void put_words(FILE *out, const struct column *column, const char *words, unsigned at)
{
    if (column->flags & COLUMN_PLACE)
        put_place(out, words, PLAIN_COLUMNS - at);
    else if (column->flags & COLUMN_WRAP)
        plain_wrap(out, words, at, at);
    else if (column->width)
        plain_put_middle(out, words, column->width, PLAIN_LEFT); // names often differ at the end
    else // a line may be longer than the screen for what is copied, such as a path
        plain_put_middle(out, words, PLAIN_MOST_OF_WORD, PLAIN_BARE);
}

// Words between numbers: as wide as they are, up to a line.
static void put_name_right(FILE *out, const char *words, unsigned columns)
{
    const unsigned width = plain_width(words, PLAIN_COLUMNS);
    const unsigned room = width < PLAIN_COLUMNS ? width : PLAIN_COLUMNS;
    plain_put_middle(out, words, room > columns ? room : columns, PLAIN_RIGHT);
}

static void put_cell(FILE *out, const struct column *column, struct value value, unsigned at)
{
    char room[VALUE_TEXT_BYTES];
    const char *words = value_show(value, column->unit, VALUE_SHORT, room);
    if (column->flags & COLUMN_LEFT)
        put_words(out, column, words, at);
    else if (value_is_number(value)) // never cut: a part of a number is another number
        fprintf(out, "%*s", (int)column->width, words);
    else
        put_name_right(out, words, column->width);
}

static unsigned indent_of(const struct table *table)
{
    return table->look == TABLE_FLAT ? 0 : INDENT;
}

// Blanks in front of a column.
static unsigned gap_of(const struct column *column, bool is_first)
{
    if (is_first || !(column->flags & COLUMN_LEFT))
        return 0;
    return column->flags & COLUMN_TIGHT ? 1 : 2;
}

static void put_row(const struct text *text, const struct table *table, const struct value *cells,
                    const struct people_rows *rows)
{
    bool is_first = true, is_ended = false;
    unsigned at = indent_of(table);
    fprintf(text->out, "%*s", (int)at, "");
    for (size_t i = 0; i < table->count; i++) {
        const struct column *column = &table->columns[i];
        if (!column->label)
            continue;
        const unsigned gap = gap_of(column, is_first);
        fprintf(text->out, "%*s", (int)gap, "");
        if (column->flags & COLUMN_BAR)
            put_bar(text->out, people_rows_bar(rows, cells[i]));
        else
            put_cell(text->out, column, people_rows_cell(table, cells, i), at + gap);
        at += gap + column->width;
        is_first = false;
        is_ended = column->flags & COLUMN_WRAP;
    }
    if (!is_ended)
        fputc('\n', text->out);
}

// The labels over their columns, if any has words.
static void put_labels(const struct text *text, const struct table *table)
{
    bool is_first = true, is_any = false;
    for (size_t i = 0; i < table->count; i++)
        is_any = is_any || (table->columns[i].label && *table->columns[i].label);
    for (size_t i = 0; is_any && i < table->count; i++) {
        const struct column *column = &table->columns[i];
        const bool is_left = column->flags & COLUMN_LEFT;
        if (!column->label)
            continue;
        fprintf(text->out, "%*s%*s", (int)gap_of(column, is_first), "",
                is_left ? -(int)column->width : (int)column->width, column->label);
        is_first = false;
    }
    if (is_any)
        fputc('\n', text->out);
}

// The heading stands where the names do, and the labels over their columns.
static void put_head(const struct text *text, const struct node *node)
{
    const struct table *table = node->table;
    unsigned used = plain_width(node->label, WIDEST), end = 0;
    fputc('\n', text->out);
    put_bold(text, node->label);
    for (size_t i = 0; i < table->count; i++) {
        const struct column *column = &table->columns[i];
        if (!column->label)
            continue;
        const bool is_first = !end;
        const bool is_left = column->flags & COLUMN_LEFT;
        const unsigned left = end + INDENT;
        end += column->width + (is_first || is_left ? INDENT : 0);
        if (is_first || !*column->label)
            continue;
        const unsigned width = plain_width(column->label, WIDEST);
        const unsigned start = is_left ? left : end > width ? end - width : 0;
        const unsigned blanks = start > used ? start - used : 1;
        fprintf(text->out, "%*s%s", (int)blanks, "", column->label);
        used += blanks + width;
    }
    fputc('\n', text->out);
}

static int put_table(const struct text *text, const struct node *nodes, size_t at)
{
    struct people_rows rows;
    int status = people_rows_choose(nodes, at, &rows);
    if (status)
        return status;
    if (nodes[at].table->look == TABLE_GRID)
        sheet_grid_put(text->out, nodes[at].table, &rows);
    else if (nodes[at].table->look == TABLE_FLAT)
        put_labels(text, nodes[at].table);
    else
        put_head(text, &nodes[at]);
    for (size_t i = 0; nodes[at].table->look != TABLE_GRID && i < rows.count; i++) {
        if (rows.rows[i].kind == PEOPLE_MORE)
            fprintf(text->out, "%*s%.*s: --json)\n", INDENT, "", (int)strcspn(rows.left_out, ")"),
                    rows.left_out);
        else
            put_row(text, nodes[at].table, rows.rows[i].cells, &rows);
    }
    people_rows_finish(&rows);
    return GAIT_OK;
}

// --- all of it -------------------------------------------------------------------------

static int put_node(struct text *text, const struct node *nodes, size_t at)
{
    const struct node *node = &nodes[at];
    if (!node_is_seen(node) || node_is_picture(node) ||
        (node->kind == NODE_TABLE && node->table->is_of_page))
        return GAIT_OK;
    if (node->kind == NODE_VALUE) {
        put_value(text, node);
        return GAIT_OK;
    }
    end_values(text);
    if (node->kind == NODE_TITLE)
        put_title(text, node);
    else if (node->kind == NODE_SECTION)
        put_section(text, node);
    else if (node->kind == NODE_SAY)
        put_said(text, node);
    else if (node->kind == NODE_COMMAND)
        fprintf(text->out, "  see: %s\n", node->text);
    else if (node->kind == NODE_VERDICT)
        verdict_text_put(&node->verdict->says, text->look, text->out);
    return node->kind == NODE_TABLE ? put_table(text, nodes, at) : GAIT_OK;
}

// Whether a node is left out: asked to be, and something to see.
static bool is_left_out(const struct text *text, const struct node *node)
{
    return node->is_folded && !text->look->is_all && node_is_seen(node) && !node_is_picture(node);
}

int sheet_put_text(const struct sheet *sheet, const struct text_look *look, FILE *out)
{
    struct text text = {.out = out, .look = look, .columns = text_look_columns(look)};
    size_t count;
    const struct node *nodes = sheet_nodes(sheet, &count);
    const char *more = NULL;
    bool is_cut = false;
    int status = sheet_status(sheet);
    for (size_t at = 0; at < count && !status; at = node_next_flat(nodes, at)) {
        if (nodes[at].kind == NODE_MORE)
            more = nodes[at].text;
        else if (is_left_out(&text, &nodes[at]))
            is_cut = true;
        else
            status = put_node(&text, nodes, at);
    }
    end_values(&text);
    if (is_cut && more) {
        fputs("more: ", out);
        plain_put_all(out, more);
        fputc('\n', out);
    }
    return status;
}
