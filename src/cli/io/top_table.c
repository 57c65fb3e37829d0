// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "cli/io/top_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "sample/remote/process_tree.h"

#define ROW_LIMIT ((size_t)1 << 20)

struct filling {
    struct top_table *table;
    int64_t pid; // of the thread before
    int status;
};

static struct top_row *add(struct filling *filling)
{
    struct top_table *table = filling->table;
    filling->status = ARRAY_RESERVE(table->rows, table->room, table->count + 1, ROW_LIMIT);
    if (filling->status)
        return NULL;
    struct top_row *row = &table->rows[table->count++];
    memset(row, 0, sizeof *row);
    return row;
}

// Its command line, the program without its folder.
static void name_process(struct top_row *row)
{
    process_tree_name(row->pid, row->name, sizeof row->name);
    const size_t word = strcspn(row->name, " ");
    size_t from = word;
    while (from && row->name[from - 1] != '/')
        from--;
    memmove(row->name, row->name + from, strlen(row->name + from) + 1);
}

// Threads of one process come in a row.
static void take_thread(void *context, const struct sampler_thread *thread)
{
    struct filling *filling = context;
    struct top_table *table = filling->table;
    const bool is_first = thread->pid != filling->pid;
    if (filling->status)
        return;
    filling->pid = thread->pid;
    table->processes += is_first;
    struct top_row *row =
        table->by_process && !is_first ? &table->rows[table->count - 1] : add(filling);
    if (!row)
        return;
    row->pid = thread->pid;
    row->tid = table->by_process ? 0 : thread->tid;
    row->threads++;
    for (int i = 0; i < SAMPLE_STATES; i++)
        row->states[i] += thread->states[i];
    if (!table->by_process)
        snprintf(row->name, sizeof row->name, "%s", thread->name);
    else if (is_first)
        name_process(row);
}

static uint64_t busy(const struct top_row *row)
{
    return row->states[SAMPLE_PYTHON] + row->states[SAMPLE_WAITING] + row->states[SAMPLE_NATIVE];
}

static int busiest_first(const void *left, const void *right)
{
    const struct top_row *a = left, *b = right;
    if (busy(a) != busy(b))
        return busy(a) < busy(b) ? 1 : -1;
    RETURN_IF_APART(a->pid, b->pid);
    return (a->tid > b->tid) - (a->tid < b->tid);
}

int top_table_fill(struct top_table *table, struct sampler *sampler)
{
    struct filling filling = {.table = table};
    table->count = table->processes = 0;
    sampler_look_at_threads(sampler, take_thread, &filling);
    ARRAY_SORT(table->rows, table->count, busiest_first);
    return filling.status;
}

void top_table_finish(struct top_table *table)
{
    free(table->rows);
    memset(table, 0, sizeof *table);
}
