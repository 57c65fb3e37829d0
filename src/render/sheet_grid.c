// SPDX-License-Identifier: Apache-2.0
#include "render/sheet_grid.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "render/plain.h"

#define WIDEST 10000u

enum { MOST_COLUMNS = 32, HEAD_ROOM = 2 };

struct grid {
    FILE *out;
    const struct table *table;
    const struct people_rows *rows;
    size_t last;
    unsigned widths[MOST_COLUMNS], least[MOST_COLUMNS];
    bool are_numbers[MOST_COLUMNS]; // such a column stands to the right
};

// A cell; `row` beyond the last one: the label.
static const char *words_of(const struct grid *grid, size_t row, size_t column,
                            char room[VALUE_TEXT_BYTES])
{
    const struct column *of = &grid->table->columns[column];
    if (row == grid->rows->count || !grid->rows->rows[row].cells)
        return of->label;
    return value_show(grid->rows->rows[row].cells[column], of->unit, VALUE_SHORT, room);
}

static void measure(struct grid *grid, size_t column)
{
    char room[VALUE_TEXT_BYTES];
    unsigned widest = plain_width(grid->table->columns[column].label, WIDEST) + HEAD_ROOM;
    bool is_number = !(grid->table->columns[column].flags & COLUMN_LEFT);
    grid->least[column] = widest;
    for (size_t row = 0; row < grid->rows->count; row++) {
        const char *words = words_of(grid, row, column, room);
        const unsigned width = plain_width(words, WIDEST);
        widest = width > widest ? width : widest;
        is_number = is_number && words[strspn(words, "-0123456789")] == '\0';
    }
    grid->widths[column] = widest;
    grid->are_numbers[column] = is_number;
    grid->last = column;
}

// Columns of names give way, the widest first, down to their labels.
static void narrow(struct grid *grid)
{
    const size_t count = grid->table->count;
    unsigned all = 0;
    for (size_t i = 0; i < count; i++)
        all += grid->table->columns[i].label ? grid->widths[i] + 3 : 0;
    for (; all > grid->table->widest + 1; all--) { // nothing stands behind the last
        size_t widest = count;
        for (size_t i = 0; i < count; i++)
            if (grid->table->columns[i].flags & COLUMN_LEFT && i != grid->last &&
                grid->widths[i] > grid->least[i] &&
                (widest == count || grid->widths[i] > grid->widths[widest]))
                widest = i;
        if (widest == count)
            break;
        grid->widths[widest]--;
    }
}

static void put_cell(const struct grid *grid, size_t column, const char *words)
{
    const enum plain_side side = grid->are_numbers[column] ? PLAIN_RIGHT : PLAIN_LEFT;
    const unsigned width = plain_width(words, WIDEST);
    unsigned columns = grid->widths[column];
    if (column == grid->last && width < columns)
        columns = width;
    fputc(' ', grid->out);
    if (grid->table->columns[column].flags & COLUMN_BEGINNING)
        plain_put(grid->out, words, columns, side);
    else
        plain_put_middle(grid->out, words, columns, side);
    fputs(column == grid->last ? "\n" : " |", grid->out);
}

static void put_row(const struct grid *grid, size_t row)
{
    char room[VALUE_TEXT_BYTES];
    for (size_t i = 0; i < grid->table->count; i++)
        if (grid->table->columns[i].label)
            put_cell(grid, i, words_of(grid, row, i, room));
}

void sheet_grid_put(FILE *out, const struct table *table, const struct people_rows *rows)
{
    struct grid grid = {.out = out, .table = table, .rows = rows};
    const char *between = "";
    assert(table->count <= MOST_COLUMNS);
    for (size_t i = 0; i < table->count; i++)
        if (table->columns[i].label)
            measure(&grid, i);
    narrow(&grid);
    put_row(&grid, rows->count);
    for (size_t i = 0; i < table->count; i++) {
        if (!table->columns[i].label)
            continue;
        fputs(between, out);
        between = "+";
        for (unsigned dash = 0; dash < grid.widths[i] + 2; dash++)
            fputc('-', out);
    }
    fputc('\n', out);
    for (size_t row = 0; row < rows->count; row++)
        put_row(&grid, row);
}
