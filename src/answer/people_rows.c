// SPDX-License-Identifier: Apache-2.0
#include "answer/people_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/time/wrap_add.h"
#include "base/fail.h"

struct sorted {
    const struct value *cells;
    size_t place;
    double by;
};

static int compare(const void *a, const void *b)
{
    const struct sorted *one = a, *other = b;
    if (one->by != other->by)
        return one->by < other->by ? 1 : -1;
    return one->place < other->place ? -1 : one->place > other->place;
}

static size_t column_by_key(const struct table *table, const char *key)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->columns[i].key && !strcmp(table->columns[i].key, key))
            return i;
    return 0;
}

// The rows that can be left out; those with flags are shown whatever comes.
static size_t collect(const struct node *nodes, size_t table, struct sorted *out)
{
    const char *by = nodes[table].table->falling_by;
    const size_t column = by ? column_by_key(nodes[table].table, by) : 0;
    size_t count = 0;
    for (size_t at = table + 1; at < nodes[table].end; at = node_next(nodes, at)) {
        if (nodes[at].kind != NODE_ROW || nodes[at].flags & ~ROW_PEOPLE)
            continue;
        const double number = by ? value_number(nodes[at].cells[column]) : 0;
        if (!by || number > 0)
            out[count++] = (struct sorted){nodes[at].cells, at, number};
    }
    if (by)
        qsort(out, count, sizeof *out, compare);
    return count;
}

static void add_row(struct people_rows *rows, enum people_row_kind kind, const struct value *cells)
{
    rows->rows[rows->count++] = (struct people_row){kind, cells};
}

static void put_last(const struct node *nodes, size_t table, struct people_rows *rows)
{
    for (unsigned flag = ROW_LAST; flag <= ROW_TOTAL; flag <<= 1)
        for (size_t at = table + 1; at < nodes[table].end; at = node_next(nodes, at))
            if (nodes[at].kind == NODE_ROW && nodes[at].flags & flag)
                add_row(rows, flag == ROW_TOTAL ? PEOPLE_TOTAL : PEOPLE_ROW, nodes[at].cells);
}

// What a hostile file tells may wrap. Of a mean both parts add up.
static void add_to(struct value *sum, struct value value)
{
    if (sum->kind == VALUE_NONE) {
        *sum = value;
        return;
    }
    if (sum->kind != value.kind)
        return;
    if (value.kind == VALUE_UINT)
        sum->natural += value.natural;
    else if (value.kind == VALUE_INT)
        sum->integer = wrap_add(sum->integer, value.integer);
    else if (value.kind == VALUE_REAL)
        sum->real += value.real;
    else if (value.kind == VALUE_SHARE || value.kind == VALUE_MEAN)
        sum->part += value.part;
    if (value.kind == VALUE_MEAN)
        sum->whole += value.whole;
}

static bool has_sums(const struct table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->columns[i].flags & COLUMN_SUMS)
            return true;
    return false;
}

static void find_largest(const struct table *table, struct people_rows *rows)
{
    for (size_t bar = 0; bar < table->count; bar++)
        for (size_t i = 0; table->columns[bar].flags & COLUMN_BAR && i < rows->count; i++) {
            const double number = rows->rows[i].cells ? value_number(rows->rows[i].cells[bar]) : 0;
            rows->largest = isfinite(number) && number > rows->largest ? number : rows->largest;
        }
}

// Adds up the rows [first, last). What does not add up is blank.
static void sum_up(const struct table *table, const struct sorted *sorted, size_t count,
                   struct value *sums, const char *name)
{
    bool is_named = false;
    for (size_t i = 0; i < table->count; i++) {
        for (size_t row = 0; table->columns[i].flags & COLUMN_SUMS && row < count; row++)
            add_to(&sums[i], sorted[row].cells[i]);
        if (table->columns[i].label && !is_named) {
            sums[i] = value_text(name);
            is_named = true;
        } else if (sums[i].kind == VALUE_NONE) {
            sums[i] = value_text("");
        }
    }
}

static void choose(const struct table *table, const struct sorted *sorted, size_t count,
                   struct people_rows *rows, struct value *sums)
{
    // left out: [first, last)
    size_t first = count, last = count;
    if (table->most && count > table->most) {
        first = table->keeps_newest ? 1 : table->most;
        last = first + count - table->most;
        snprintf(rows->left_out, sizeof rows->left_out, "(%zu %s)", last - first,
                 table->more ? table->more : "");
    }
    for (size_t i = 0; i < first; i++)
        add_row(rows, PEOPLE_ROW, sorted[i].cells);
    if (first < last && table->more && has_sums(table)) {
        sum_up(table, sorted + first, last - first, sums, rows->left_out);
        add_row(rows, PEOPLE_SUMS, sums);
    } else if (first < last && table->more) {
        add_row(rows, PEOPLE_MORE, NULL);
    }
    for (size_t i = last; i < count; i++)
        add_row(rows, PEOPLE_ROW, sorted[i].cells);
}

int people_rows_choose(const struct node *nodes, size_t table, struct people_rows *ret_rows)
{
    const struct table *shape = nodes[table].table;
    const size_t most = nodes[table].count + 1;
    *ret_rows = (struct people_rows){.count = 0};
    struct sorted *sorted = calloc(most, sizeof *sorted);
    ret_rows->memory =
        calloc(1, most * sizeof(struct people_row) + shape->count * sizeof(struct value));
    if (!sorted || !ret_rows->memory) {
        free(sorted);
        free(ret_rows->memory);
        return fail(GAIT_ERR_MEMORY, "no memory for the %zu rows of a table", most - 1);
    }
    ret_rows->rows = ret_rows->memory;
    choose(shape, sorted, collect(nodes, table, sorted), ret_rows,
           (struct value *)(void *)(ret_rows->rows + most));
    put_last(nodes, table, ret_rows);
    find_largest(shape, ret_rows);
    free(sorted);
    return GAIT_OK;
}

struct value people_rows_cell(const struct table *table, const struct value *cells, size_t column)
{
    bool is_first = true;
    for (size_t i = 0; i < column; i++)
        is_first = is_first && !table->columns[i].label;
    const bool is_empty = cells[column].kind == VALUE_TEXT && !*cells[column].text;
    return is_first && is_empty ? value_text("(no name)") : cells[column];
}

double people_rows_bar(const struct people_rows *rows, struct value cell)
{
    const double part = value_number(cell);
    if (!(part > 0 && rows->largest > 0))
        return 0;
    return part < rows->largest ? part / rows->largest : 1;
}

void people_rows_finish(struct people_rows *rows)
{
    free(rows->memory);
}
