// SPDX-License-Identifier: Apache-2.0
#include "answer/people_rows.h"

#include <assert.h>
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

static void put_last(const struct node *nodes, size_t table, struct people_rows *rows)
{
    for (unsigned flag = ROW_LAST; flag <= ROW_TOTAL; flag <<= 1) {
        rows->total_at = rows->count;
        for (size_t at = table + 1; at < nodes[table].end; at = node_next(nodes, at))
            if (nodes[at].kind == NODE_ROW && nodes[at].flags & flag)
                rows->rows[rows->count++] = nodes[at].cells;
    }
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

static void leave_out(const struct table *table, const struct sorted *row, struct people_rows *rows)
{
    rows->left_out++;
    for (size_t i = 0; rows->sums && i < table->count; i++)
        if (table->columns[i].flags & COLUMN_SUMS)
            add_to(&rows->sums[i], row->cells[i]);
}

static void find_largest(const struct table *table, struct people_rows *rows)
{
    for (size_t i = 0; i < table->count; i++) {
        if (!(table->columns[i].flags & COLUMN_BAR))
            continue;
        for (size_t row = 0; row < rows->count; row++) {
            assert(rows->rows[row]);
            const double number = value_number(rows->rows[row][i]);
            rows->largest = number > rows->largest ? number : rows->largest;
        }
        if (rows->sums && value_number(rows->sums[i]) > rows->largest)
            rows->largest = value_number(rows->sums[i]);
    }
}

static void choose(const struct table *table, const struct sorted *sorted, size_t count,
                   struct people_rows *rows)
{
    // left out: [first, last)
    size_t first = count, last = count;
    if (table->most && count > table->most) {
        first = table->keeps_newest ? 1 : table->most;
        last = first + count - table->most;
    }
    for (size_t i = 0; i < count; i++)
        if (i < first || i >= last)
            rows->rows[rows->count++] = sorted[i].cells;
        else
            leave_out(table, &sorted[i], rows);
    rows->left_out_at = first;
}

int people_rows_choose(const struct node *nodes, size_t table, struct people_rows *ret_rows)
{
    const struct table *shape = nodes[table].table;
    const size_t most = nodes[table].count + 1;
    *ret_rows = (struct people_rows){.count = 0};
    struct sorted *sorted = calloc(most, sizeof *sorted);
    ret_rows->memory =
        calloc(1, most * sizeof(struct value *) + shape->count * sizeof(struct value));
    if (!sorted || !ret_rows->memory) {
        free(sorted);
        free(ret_rows->memory);
        return fail(GAIT_ERR_MEMORY, "no memory for the %zu rows of a table", most - 1);
    }
    ret_rows->rows = ret_rows->memory;
    if (has_sums(shape))
        ret_rows->sums = (struct value *)(void *)(ret_rows->rows + most);
    choose(shape, sorted, collect(nodes, table, sorted), ret_rows);
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

void people_rows_name_sums(struct people_rows *rows, const struct table *table, const char *name)
{
    bool is_named = false;
    for (size_t i = 0; i < table->count; i++) {
        if (table->columns[i].label && !is_named) {
            rows->sums[i] = value_text(name);
            is_named = true;
        } else if (rows->sums[i].kind == VALUE_NONE) {
            rows->sums[i] = value_text("");
        }
    }
}

void people_rows_finish(struct people_rows *rows)
{
    free(rows->memory);
}
