// SPDX-License-Identifier: Apache-2.0
// Two passes over the columns (span_order.h): ops come in order of start, and on each
// thread a row of the open ones says whose child the next one is.
#include "analyse/ops/top_ops.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/ledger/torch_phases.h"
#include "analyse/time/intervals.h"
#include "analyse/time/span_order.h"
#include "base/arena.h"
#include "base/fail.h"
#include "load/order/open_calls.h"

struct adding {
    const struct torch_phases *phases;
    struct top_op *sums;     // of a site
    struct open_calls *open; // ops, of each thread; numbers are sites
    struct span_order order;
    const struct top_ops_wish *wish;
    int status;
};

// A window may last until the next loop begins, whatever the script does before that.
static bool is_in_step(const struct top_ops_wish *wish, int64_t at_ns)
{
    return !wish->steps->count || intervals_cover(wish->steps, at_ns);
}

static void add_op(const struct ordered_span *span, void *context)
{
    struct adding *adding = context;
    if (torch_phases_role(adding->phases, span->site) != ROLE_OP || span->end_ns == INT64_MAX ||
        span->start_ns < adding->wish->since_ns)
        return;
    const struct open_call *parent = open_calls_at(&adding->open[span->track], span->start_ns);
    if (!parent && !is_in_step(adding->wish, span->start_ns))
        return;
    uint64_t length = (uint64_t)span->end_ns - (uint64_t)span->start_ns;
    struct top_op *sum = &adding->sums[span->site];
    sum->calls++;
    sum->total_ns += length;
    sum->self_ns += length;
    if (length > sum->longest_ns)
        sum->longest_ns = length;
    if (parent) {
        int64_t end_ns = span->end_ns < parent->end_ns ? span->end_ns : parent->end_ns;
        adding->sums[parent->number].self_ns -= (uint64_t)end_ns - (uint64_t)span->start_ns;
    }
    int status = open_calls_push(&adding->open[span->track], span->end_ns, span->site);
    if (status)
        adding->status = status;
}

static int survey(const struct gait_batch *batch, void *context)
{
    struct adding *adding = context;
    return span_order_survey(&adding->order, batch);
}

static int walk(const struct gait_batch *batch, void *context)
{
    struct adding *adding = context;
    span_order_walk(&adding->order, batch, add_op, adding);
    return adding->status;
}

static int read_ops(struct adding *adding, struct gait_trace *trace, const struct gait_query *query)
{
    int status = span_order_init(&adding->order, gait_trace_track_count(trace));
    for (uint32_t i = 0; !status && i < query->track_count; i++)
        span_order_want(&adding->order, query->tracks[i]);
    if (!status)
        status = gait_scan(trace, query, SPAN_ORDER_SURVEY_COLUMNS, survey, adding);
    if (!status) {
        span_order_sort(&adding->order);
        status = gait_scan(trace, query, SPAN_ORDER_WALK_COLUMNS, walk, adding);
    }
    if (!status)
        span_order_finish_walk(&adding->order, add_op, adding);
    span_order_finish(&adding->order);
    return status ? status : adding->status;
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
    if (from->longest_ns > to->longest_ns)
        to->longest_ns = from->longest_ns;
}

// Sums by site become sums by name, the largest first.
static int put_rows(struct top_ops *ops, const struct gait_trace *trace,
                    const struct adding *adding, struct arena *arena)
{
    uint32_t sites = adding->phases->site_count;
    size_t count = 0, kept = 0;
    ops->rows = arena_take(arena, ((size_t)sites + 1) * sizeof *ops->rows);
    if (!ops->rows)
        return fail(GAIT_ERR_MEMORY, "no memory for %u ops", sites);
    for (uint32_t i = 0; i < sites; i++) {
        struct gait_site_info site;
        if (!adding->sums[i].calls)
            continue;
        int status = gait_trace_site(trace, i, &site);
        if (status)
            return status;
        ops->rows[count] = adding->sums[i];
        ops->rows[count++].name = site.name;
        ops->calls += adding->sums[i].calls;
        ops->self_ns += adding->sums[i].self_ns;
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

static int list_threads(const struct gait_trace *trace, uint32_t shard, uint32_t *tracks,
                        uint32_t *ret_count)
{
    uint32_t all = gait_trace_track_count(trace), count = 0;
    for (uint32_t i = 0; i < all; i++) {
        struct gait_track_info info;
        int status = gait_trace_track(trace, i, &info);
        if (status)
            return status;
        if (info.shard == shard && info.kind == GAIT_TRACK_THREAD && !info.internal)
            tracks[count++] = i;
    }
    *ret_count = count;
    return GAIT_OK;
}

int top_ops_make(struct top_ops *ops, struct gait_trace *trace, const struct top_ops_wish *wish,
                 struct arena *arena)
{
    const struct torch_phases *phases = wish->phases;
    size_t tracks = (size_t)gait_trace_track_count(trace) + 1;
    struct gait_query query = {.size = sizeof query, .kinds = 1u << GAIT_KIND_SPAN};
    uint32_t *wanted = malloc(tracks * sizeof *wanted);
    struct adding adding = {.phases = phases,
                            .wish = wish,
                            .sums = calloc((size_t)phases->site_count + 1, sizeof *adding.sums),
                            .open = calloc(tracks, sizeof *adding.open)};
    int status = GAIT_OK;
    *ops = (struct top_ops){.count = 0};
    if (!wanted || !adding.sums || !adding.open)
        status = fail(GAIT_ERR_MEMORY, "no memory for ops");
    if (!status)
        status = list_threads(trace, wish->shard, wanted, &query.track_count);
    query.tracks = wanted;
    if (!status && query.track_count)
        status = read_ops(&adding, trace, &query);
    if (!status)
        status = put_rows(ops, trace, &adding, arena);
    for (size_t i = 0; adding.open && i < tracks; i++)
        open_calls_finish(&adding.open[i]);
    free(adding.open);
    free(adding.sums);
    free(wanted);
    return status;
}
