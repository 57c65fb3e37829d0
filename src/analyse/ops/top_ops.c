// SPDX-License-Identifier: Apache-2.0
// Ops come in order of start, and on each thread a row of the open ones says whose child
// the next one is.
#include "analyse/ops/top_ops.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/ledger/torch_phases.h"
#include "analyse/ops/op_walk.h"
#include "analyse/time/intervals.h"
#include "base/arena.h"
#include "base/fail.h"
#include "load/order/open_calls.h"

struct top_ops_taking {
    const struct gait_trace *trace;
    struct top_ops_wish wish;
    struct top_op *sums;     // of a site
    struct open_calls *open; // ops, of each thread; numbers are sites
    uint32_t track_count;
};

// A window may last until the next loop begins, whatever the script does before that.
static bool is_in_step(const struct top_ops_wish *wish, int64_t at_ns)
{
    return !wish->steps->count || intervals_cover(wish->steps, at_ns);
}

static void add_times(struct top_ops_taking *taking, uint32_t site, uint64_t length)
{
    struct top_op *sum = &taking->sums[site];
    sum->calls++;
    sum->total_ns += length;
    sum->self_ns += length;
    if (length > sum->longest_ns)
        sum->longest_ns = length;
}

// How much of the op no phase has.
static uint64_t unphased_ns(const struct top_ops_wish *wish, const struct gait_event *op,
                            int64_t end_ns)
{
    const struct intervals *unphased = wish->unphased;
    uint64_t sum_ns = 0;
    if (op->track != wish->track)
        return 0;
    for (size_t i = intervals_from(unphased, op->start_ns); i < unphased->count; i++) {
        const struct interval *row = &unphased->rows[i];
        if (row->start_ns >= end_ns)
            break;
        const int64_t from_ns = row->start_ns > op->start_ns ? row->start_ns : op->start_ns;
        sum_ns += (uint64_t)(row->end_ns < end_ns ? row->end_ns : end_ns) - (uint64_t)from_ns;
    }
    return sum_ns;
}

static int take_op(const struct torch_event *seen, void *context)
{
    struct top_ops_taking *taking = context;
    const struct gait_event *op = seen->event;
    struct open_calls *open = &taking->open[op->track];
    int64_t end_ns;
    if (op->kind != GAIT_KIND_SPAN || torch_phases_role(taking->wish.phases, op->site) != ROLE_OP ||
        op->duration_ns < 0 || op->start_ns < taking->wish.since_ns ||
        __builtin_add_overflow(op->start_ns, op->duration_ns, &end_ns))
        return GAIT_OK;
    const struct open_call *parent = open_calls_at(open, op->start_ns);
    if (!parent && !is_in_step(&taking->wish, op->start_ns))
        return GAIT_OK;
    add_times(taking, op->site, (uint64_t)op->duration_ns);
    if (!parent) {
        taking->sums[op->site].unphased_ns += unphased_ns(&taking->wish, op, end_ns);
    } else {
        const int64_t inside_ns = end_ns < parent->end_ns ? end_ns : parent->end_ns;
        taking->sums[parent->number].self_ns -= (uint64_t)inside_ns - (uint64_t)op->start_ns;
    }
    return open_calls_push(open, end_ns, op->site);
}

static int by_name(const void *left, const void *right)
{
    const struct top_op *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static int by_self(const void *left, const void *right)
{
    const struct top_op *a = left, *b = right;
    if (a->self_ns != b->self_ns)
        return a->self_ns > b->self_ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void add_row(struct top_op *to, const struct top_op *from)
{
    to->calls += from->calls;
    to->self_ns += from->self_ns;
    to->total_ns += from->total_ns;
    to->unphased_ns += from->unphased_ns;
    if (from->longest_ns > to->longest_ns)
        to->longest_ns = from->longest_ns;
}

// Sums by site become sums by name, the largest first.
static int put_rows(struct top_ops *ops, const struct top_ops_taking *taking, struct arena *arena)
{
    uint32_t sites = taking->wish.phases->site_count;
    size_t count = 0, kept = 0;
    ops->rows = arena_take(arena, ((size_t)sites + 1) * sizeof *ops->rows);
    if (!ops->rows)
        return fail(GAIT_ERR_MEMORY, "no memory for %u ops", sites);
    for (uint32_t i = 0; i < sites; i++) {
        struct gait_site_info site;
        if (!taking->sums[i].calls)
            continue;
        int status = gait_trace_site(taking->trace, i, &site);
        if (status)
            return status;
        ops->rows[count] = taking->sums[i];
        ops->rows[count++].name = site.name;
        ops->calls += taking->sums[i].calls;
        ops->self_ns += taking->sums[i].self_ns;
    }
    qsort(ops->rows, count, sizeof *ops->rows, by_name);
    for (size_t i = 0; i < count; i++) {
        if (!kept || strcmp(ops->rows[kept - 1].name, ops->rows[i].name) != 0) {
            ops->rows[kept++] = ops->rows[i];
            continue;
        }
        add_row(&ops->rows[kept - 1], &ops->rows[i]);
    }
    qsort(ops->rows, kept, sizeof *ops->rows, by_self);
    ops->count = kept;
    return GAIT_OK;
}

int top_ops_begin(struct top_ops_taking **ret_taking, struct op_walk *walk,
                  const struct top_ops_wish *wish)
{
    struct top_ops_taking *taking = calloc(1, sizeof *taking);
    const uint32_t tracks = gait_trace_track_count(walk->trace);
    if (!taking)
        return fail(GAIT_ERR_MEMORY, "no memory for ops");
    taking->trace = walk->trace;
    taking->wish = *wish;
    taking->track_count = tracks;
    taking->sums = calloc((size_t)wish->phases->site_count + 1, sizeof *taking->sums);
    taking->open = calloc((size_t)tracks + 1, sizeof *taking->open);
    if (!taking->sums || !taking->open) {
        top_ops_drop(taking);
        return fail(GAIT_ERR_MEMORY, "no memory for ops");
    }
    const struct op_walker walker = {take_op, taking, 0, 0};
    op_walk_add(walk, &walker);
    *ret_taking = taking;
    return GAIT_OK;
}

int top_ops_end(struct top_ops_taking *taking, struct top_ops *ops, struct arena *arena)
{
    *ops = (struct top_ops){.count = 0};
    const int status = put_rows(ops, taking, arena);
    top_ops_drop(taking);
    return status;
}

void top_ops_drop(struct top_ops_taking *taking)
{
    if (!taking)
        return;
    for (uint32_t i = 0; taking->open && i < taking->track_count; i++)
        open_calls_finish(&taking->open[i]);
    free(taking->open);
    free(taking->sums);
    free(taking);
}
