// SPDX-License-Identifier: Apache-2.0
#include "analyse/ops/op_rows.h"

#include <stdlib.h>

#include "analyse/ops/op_list.h"
#include "base/array.h"
#include "base/fail.h"

void op_rows_init(struct op_rows *rows)
{
    *rows = (struct op_rows){.rows = NULL};
    tuple_map_init(&rows->keys, 2);
}

void op_rows_finish(struct op_rows *rows)
{
    tuple_map_finish(&rows->keys);
    free(rows->rows);
    rows->rows = NULL;
}

int op_rows_get(struct op_rows *rows, const struct op_site *site, uint32_t shapes,
                uint32_t *ret_row)
{
    const uint64_t key[2] = {op_site_key(site), shapes};
    const size_t known = rows->keys.count;
    int status = tuple_map_add(&rows->keys, key, ret_row);
    if (!status)
        status = ARRAY_RESERVE(rows->rows, rows->room, rows->keys.count, UINT32_MAX);
    if (!status && rows->keys.count > known)
        rows->rows[*ret_row] =
            (struct op_row){.key = op_site_key(site), .name = site->name, .shapes = shapes};
    return status;
}

static bool is_before(const struct op_first *a, const struct op_first *b)
{
    if (a->window != b->window)
        return a->window > b->window;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns;
    return a->end_ns != b->end_ns ? a->end_ns > b->end_ns : a->place < b->place;
}

void op_rows_count(struct op_rows *rows, uint32_t row, const struct op_first *first)
{
    struct op_row *to = &rows->rows[row];
    if (!to->count++ || is_before(first, &to->first))
        to->first = *first;
}

static int by_first(const void *left, const void *right)
{
    const struct op_row *a = left, *b = right;
    return is_before(&a->first, &b->first) ? -1 : is_before(&b->first, &a->first);
}

static double us_of(int64_t ns)
{
    return (double)ns / 1000.0;
}

static struct gait_op_sums sums_of(const struct op_row *row, uint32_t number)
{
    return (struct gait_op_sums){.count = row->count,
                                 .cpu_us = us_of((int64_t)row->total_ns),
                                 .self_cpu_us = us_of((int64_t)row->self_ns),
                                 .device_us = us_of(row->device_ns),
                                 .self_device_us = us_of(row->self_device_ns),
                                 .cpu_bytes = row->bytes[OP_ROW_HOST],
                                 .self_cpu_bytes = row->self_bytes[OP_ROW_HOST],
                                 .device_bytes = row->bytes[OP_ROW_DEVICE],
                                 .self_device_bytes = row->self_bytes[OP_ROW_DEVICE],
                                 .flops_low = row->flops,
                                 .first = number,
                                 .parent = GAIT_OP_NO_PARENT};
}

static int tell_row(const struct op_row *row, struct gait_ops *ops, uint32_t flags)
{
    const struct gait_op op = {.name = row->name,
                               .called = row->name,
                               .key = row->key,
                               .shapes = row->shapes,
                               .flags = flags | (row->key & 1 ? GAIT_OP_RANGE : 0u) |
                                        (row->key & 2 ? GAIT_OP_ON_DEVICE : 0u)};
    ops->rows[ops->row_count] = sums_of(row, (uint32_t)ops->count);
    ops->row_count++;
    return gait_ops_add(ops, &op, 1);
}

int op_rows_tell(const struct op_rows *rows, struct gait_ops *ops, uint32_t flags)
{
    const size_t count = rows->keys.count;
    int status = GAIT_OK;
    ops->rows = malloc((count + 1) * sizeof *ops->rows);
    if (!ops->rows)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu rows", count);
    ARRAY_SORT(rows->rows, count, by_first);
    for (size_t i = 0; i < count && !status; i++)
        if (rows->rows[i].count) // else all were told twice
            status = tell_row(&rows->rows[i], ops, flags);
    return status;
}
