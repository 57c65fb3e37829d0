// SPDX-License-Identifier: Apache-2.0
// Its times are doubles of microseconds, added as they come: near the present they have
// a grain of some tenths of a nanosecond, so its sums are not quite exact.
#include "analyse/compat/tracelens.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

struct span {
    double start, end;
};

struct spans {
    struct span *rows;
    size_t count;
};

enum group { COMPUTATION, COMMUNICATION, MEMCPY, ALL, GROUPS };

// Exact letters: the generation of 2021 ("Kernel") is unknown to it.
static enum group group_of(const struct foreign_row *row)
{
    if (strcmp(row->category, "gpu_memcpy") == 0)
        return MEMCPY;
    if (strcmp(row->category, "kernel") != 0 && strcmp(row->category, "gpu_memset") != 0)
        return GROUPS;
    return strstr(row->name, "nccl") ? COMMUNICATION : COMPUTATION;
}

// The rows come in order of start.
static void add_span(struct spans *spans, double start, double end)
{
    if (!spans->count || start > spans->rows[spans->count - 1].end)
        spans->rows[spans->count++] = (struct span){start, end};
    else if (end > spans->rows[spans->count - 1].end)
        spans->rows[spans->count - 1].end = end;
}

static double total(const struct spans *spans)
{
    double sum = 0;
    for (size_t i = 0; i < spans->count; i++)
        sum += spans->rows[i].end - spans->rows[i].start;
    return sum;
}

static void put(struct spans *spans, double start, double end)
{
    if (start < end)
        spans->rows[spans->count++] = (struct span){start, end};
}

// `ret_rest` has room for both.
static void subtract(const struct spans *from, const struct spans *minus, struct spans *ret_rest)
{
    ret_rest->count = 0;
    for (size_t i = 0, next = 0; i < from->count; i++) {
        double at = from->rows[i].start;
        const double end = from->rows[i].end;
        while (next < minus->count && minus->rows[next].end <= at)
            next++;
        for (size_t j = next; j < minus->count && minus->rows[j].start < end; j++) {
            put(ret_rest, at, minus->rows[j].start);
            at = minus->rows[j].end > at ? minus->rows[j].end : at;
        }
        put(ret_rest, at, end);
    }
}

static void fill(struct tracelens *made, const struct foreign_rows *rows, struct spans *spans)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct foreign_row *row = &rows->rows[i];
        const enum group group = group_of(row);
        if (group == GROUPS)
            continue;
        if (!foreign_rows_has_arrow(rows, row->correlation)) {
            made->dropped++;
            continue;
        }
        const double start = foreign_us(rows, row->start_ns),
                     end = start + (double)(row->end_ns - row->start_ns) / 1000;
        add_span(&spans[group], start, end);
        add_span(&spans[ALL], start, end);
    }
}

static void measure(struct tracelens *made, struct spans *spans, struct spans *rest,
                    struct spans *other)
{
    const struct spans *all = &spans[ALL];
    double *ms = made->ms;
    made->has_events = all->count > 0;
    if (!made->has_events)
        return;
    ms[TRACELENS_total_time] = all->rows[all->count - 1].end - all->rows[0].start;
    ms[TRACELENS_computation_time] = total(&spans[COMPUTATION]);
    ms[TRACELENS_total_comm_time] = total(&spans[COMMUNICATION]);
    subtract(&spans[COMMUNICATION], &spans[COMPUTATION], rest);
    ms[TRACELENS_exposed_comm_time] = total(rest);
    ms[TRACELENS_total_memcpy_time] = total(&spans[MEMCPY]);
    subtract(&spans[MEMCPY], &spans[COMPUTATION], rest);
    subtract(rest, &spans[COMMUNICATION], other);
    ms[TRACELENS_exposed_memcpy_time] = total(other);
    ms[TRACELENS_busy_time] = total(all);
    ms[TRACELENS_idle_time] = ms[TRACELENS_total_time] - ms[TRACELENS_busy_time];
    for (size_t i = 0; i < TRACELENS_FIELD_COUNT; i++)
        ms[i] /= 1000;
}

int tracelens_make(struct tracelens *made, const struct foreign_rows *rows)
{
    // groups, and room for what a subtraction leaves: two sets cut in pieces
    struct spans spans[GROUPS] = {{NULL, 0}}, rest = {NULL, 0}, other = {NULL, 0};
    struct span *room = malloc((rows->count + 1) * (GROUPS + 5) * sizeof *room);
    *made = (struct tracelens){.has_events = false};
    if (!room)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu spans", rows->count);
    for (size_t i = 0; i < GROUPS; i++)
        spans[i].rows = room + i * (rows->count + 1);
    rest.rows = room + GROUPS * (rows->count + 1);
    other.rows = rest.rows + 2 * (rows->count + 1);
    fill(made, rows, spans);
    measure(made, spans, &rest, &other);
    free(room);
    return GAIT_OK;
}
