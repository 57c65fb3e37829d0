// SPDX-License-Identifier: Apache-2.0
// Columns are as wide as the table says. On a narrow screen the first names give way, and
// numbers never.
#define _GNU_SOURCE
#include "render/table_text.h"

#include <stdlib.h>
#include <string.h>

#include "answer/people_rows.h"
#include "base/slice.h"
#include "render/sheet_grid.h"

enum {
    INDENT = 2,
    GAP = 2,
    BAR_COLUMNS = 14, // on a line of PLAIN_COLUMNS
    WIDEST = PLAIN_COLUMNS / 2,
    LEAST_NAME = 10, // columns, for less says nothing
    LEAST_PATH = 14, // likewise
};

struct text_table {
    FILE *out;
    const struct text_look *look;
    const struct table *table;
    unsigned columns; // of a line
    size_t name;      // the column that gives way
    unsigned given;   // by so much
    bool has_bars;    // bars between columns are the next to give way
};

static unsigned indent_of(const struct table *table)
{
    return table->look == TABLE_FLAT ? 0 : INDENT;
}

// Blanks in front of a column.
static unsigned gap_of(const struct column *column, bool is_first)
{
    if (is_first || !(column->flags & COLUMN_LEFT))
        return 0;
    return column->flags & COLUMN_TIGHT ? 1 : GAP;
}

// Of a bar as long as can be.
static unsigned bar_columns(unsigned line)
{
    return BAR_COLUMNS * line / PLAIN_COLUMNS;
}

// Of a bar with columns behind it.
static unsigned bar_room(const struct text_table *text, const struct column *column)
{
    return text->has_bars ? GAP + column->width : 0;
}

static unsigned width_of(const struct text_table *text, size_t column)
{
    if (text->table->columns[column].flags & COLUMN_BAR)
        return text->table->columns[column].width ? bar_room(text, &text->table->columns[column])
                                                  : 0;
    return text->table->columns[column].width - (column == text->name ? text->given : 0);
}

// What a column takes at the least.
static unsigned least_of(const struct text_table *text, const struct column *column)
{
    if (column->flags & COLUMN_BAR)
        return column->width ? bar_room(text, column) : GAP + bar_columns(text->columns);
    return column->width || !(column->flags & COLUMN_LEFT) ? column->width : LEAST_PATH;
}

// What a line takes, and the name in it that can give way.
static unsigned line_of(struct text_table *text)
{
    const struct table *table = text->table;
    unsigned all = indent_of(table);
    bool is_first = true;
    text->name = table->count;
    for (size_t i = 0; i < table->count; i++) {
        const struct column *column = &table->columns[i];
        if (!column->label)
            continue;
        all += gap_of(column, is_first) + least_of(text, column);
        is_first = false;
        if (text->name == table->count && column->flags & COLUMN_LEFT && column->width > LEAST_NAME)
            text->name = i;
    }
    return all;
}

// Only where the line is shorter than the one that tables are made for.
static void narrow(struct text_table *text)
{
    unsigned all = line_of(text);
    if (text->columns >= PLAIN_COLUMNS || all <= text->columns || text->name == text->table->count)
        return;
    const unsigned most = text->table->columns[text->name].width - LEAST_NAME;
    if (all > text->columns + most) {
        text->has_bars = false;
        all = line_of(text);
    }
    const unsigned wanted = all > text->columns ? all - text->columns : 0;
    text->given = wanted < most ? wanted : most;
}

// With a width it has blanks behind it, so that more columns can follow.
static void put_bar(const struct text_table *text, double share, unsigned width, bool is_last)
{
    const unsigned most = width ? width : bar_columns(text->columns);
    const unsigned length = (unsigned)(share * most + 0.5);
    if (!length && is_last)
        return;
    fprintf(text->out, "%*s", GAP, "");
    for (unsigned i = 0; i < length; i++)
        fputc('#', text->out);
    for (unsigned i = length; i < width && !is_last; i++)
        fputc(' ', text->out);
}

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
static void put_words(const struct text_table *text, size_t column, const char *words, unsigned at)
{
    const unsigned flags = text->table->columns[column].flags, width = width_of(text, column);
    const unsigned left = text->columns > at + LEAST_PATH ? text->columns - at : LEAST_PATH;
    if (flags & COLUMN_PLACE)
        put_place(text->out, words, left);
    else if (flags & COLUMN_WRAP)
        plain_flow(text->out, words, (struct plain_room){text->columns, at, at});
    else if (width)
        plain_put_middle(text->out, words, width, PLAIN_LEFT); // names often differ at the end
    else if (text->columns < PLAIN_COLUMNS)
        plain_flow(text->out, words, (struct plain_room){text->columns, at, at});
    else // a line may be longer than the screen for what is copied, such as a path
        plain_put_middle(text->out, words, PLAIN_MOST_OF_WORD, PLAIN_BARE);
}

// Words between numbers: as wide as they are, up to a line.
static void put_name_right(const struct text_table *text, const char *words, unsigned columns)
{
    const unsigned width = plain_width(words, text->columns);
    const unsigned room = width < text->columns ? width : text->columns;
    plain_put_middle(text->out, words, room > columns ? room : columns, PLAIN_RIGHT);
}

static void put_cell(const struct text_table *text, size_t at_column, struct value value,
                     unsigned at)
{
    const struct column *column = &text->table->columns[at_column];
    char room[VALUE_TEXT_BYTES];
    const char *words = value_show(value, column->unit, VALUE_SHORT, room);
    if (column->flags & COLUMN_LEFT)
        put_words(text, at_column, words, at);
    else if (value_is_number(value)) // never cut: a part of a number is another number
        fprintf(text->out, "%*s", (int)column->width, words);
    else
        put_name_right(text, words, column->width);
}

static bool is_blank(const struct column *column, struct value value)
{
    return !column->label ||
           (column->flags & COLUMN_BAR ? !(value_number(value) > 0)
                                       : value.kind == VALUE_TEXT && !*value.text);
}

static void put_row(const struct text_table *text, const struct value *cells,
                    const struct people_rows *rows)
{
    const struct table *table = text->table;
    bool is_first = true;
    unsigned at = indent_of(table);
    size_t count = table->count;
    while (count && is_blank(&table->columns[count - 1], cells[count - 1]))
        count--;
    fprintf(text->out, "%*s", (int)at, "");
    for (size_t i = 0; i < count; i++) {
        const struct column *column = &table->columns[i];
        if (!column->label)
            continue;
        const unsigned gap = gap_of(column, is_first);
        fprintf(text->out, "%*s", (int)gap, "");
        if (!(column->flags & COLUMN_BAR))
            put_cell(text, i, people_rows_cell(table, cells, i), at + gap);
        else if (!column->width || text->has_bars)
            put_bar(text, people_rows_bar(rows, cells[i]), column->width, i + 1 == count);
        at += gap + width_of(text, i);
        is_first = false;
    }
    fputc('\n', text->out);
}

// The labels over their columns, if any has words.
static void put_labels(const struct text_table *text)
{
    const struct table *table = text->table;
    bool is_first = true, is_any = false;
    for (size_t i = 0; i < table->count; i++)
        is_any = is_any || (table->columns[i].label && *table->columns[i].label);
    for (size_t i = 0; is_any && i < table->count; i++) {
        const struct column *column = &table->columns[i];
        const int width = (int)width_of(text, i);
        if (!column->label)
            continue;
        fprintf(text->out, "%*s%*s", (int)gap_of(column, is_first), "",
                column->flags & COLUMN_LEFT ? -width : width, column->label);
        is_first = false;
    }
    if (is_any)
        fputc('\n', text->out);
}

// The heading stands where the names do, and the labels over their columns.
static void put_head(const struct text_table *text, const char *heading)
{
    const struct table *table = text->table;
    unsigned used = plain_width(heading, WIDEST), end = 0;
    fputc('\n', text->out);
    text_look_put_bold(text->look, heading, text->out);
    for (size_t i = 0; i < table->count; i++) {
        const struct column *column = &table->columns[i];
        if (!column->label)
            continue;
        const bool is_first = !end;
        const bool is_left = column->flags & COLUMN_LEFT;
        const unsigned left = end + INDENT;
        end += width_of(text, i) + (is_first || is_left ? INDENT : 0);
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

// A grid as wide as the screen is as wide as a narrow one, too.
static void put_grid(const struct text_table *text, const struct people_rows *rows)
{
    struct table grid = *text->table;
    if (grid.widest <= PLAIN_COLUMNS && grid.widest > text->columns)
        grid.widest = text->columns;
    sheet_grid_put(text->out, &grid, rows);
}

static void put_rows(const struct text_table *text, const struct people_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->rows[i].kind == PEOPLE_MORE)
            fprintf(text->out, "%*s%.*s: --json)\n", INDENT, "", (int)strcspn(rows->left_out, ")"),
                    rows->left_out);
        else
            put_row(text, rows->rows[i].cells, rows);
    }
}

int table_text_put(const struct node *nodes, size_t at, const struct text_look *look, FILE *out)
{
    struct text_table text = {.out = out,
                              .look = look,
                              .columns = text_look_columns(look),
                              .table = nodes[at].table,
                              .has_bars = true};
    struct people_rows rows;
    int status = people_rows_choose(nodes, at, &rows);
    if (status)
        return status;
    narrow(&text);
    if (text.table->look == TABLE_GRID) {
        put_grid(&text, &rows);
    } else {
        if (text.table->look == TABLE_FLAT)
            put_labels(&text);
        else
            put_head(&text, nodes[at].label);
        put_rows(&text, &rows);
    }
    people_rows_finish(&rows);
    return GAIT_OK;
}
