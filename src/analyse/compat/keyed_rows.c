// SPDX-License-Identifier: Apache-2.0
#include "analyse/compat/keyed_rows.h"

#include <stdlib.h>

#include "analyse/time/lower_bound.h"
#include "base/fail.h"

int keyed_rows_init(struct keyed_rows *rows, size_t most)
{
    *rows = (struct keyed_rows){.rows = malloc((most + 1) * sizeof *rows->rows)};
    return rows->rows ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for %zu rows", most);
}

void keyed_rows_finish(struct keyed_rows *rows)
{
    free(rows->rows);
    *rows = (struct keyed_rows){.rows = NULL};
}

void keyed_rows_add(struct keyed_rows *rows, int64_t key, size_t at)
{
    rows->rows[rows->count++] = (struct keyed){key, at};
}

static int by_key(const void *left, const void *right)
{
    const struct keyed *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

void keyed_rows_sort(struct keyed_rows *rows)
{
    if (rows->count)
        qsort(rows->rows, rows->count, sizeof *rows->rows, by_key);
}

size_t keyed_rows_from(const struct keyed_rows *rows, int64_t key)
{
    return lower_bound(&rows->rows->key, rows->count, sizeof *rows->rows, key);
}

size_t keyed_rows_behind(const struct keyed_rows *rows, int64_t key)
{
    return key == INT64_MAX ? rows->count : keyed_rows_from(rows, key + 1);
}

size_t keyed_rows_find(const struct keyed_rows *rows, int64_t key)
{
    const size_t place = keyed_rows_from(rows, key);
    return place < rows->count && rows->rows[place].key == key ? rows->rows[place].at : KEYED_NONE;
}
