// SPDX-License-Identifier: Apache-2.0
// From a trace to a list as torch.profiler would have it: its utility ops left
// out, steps under one name, allocations outside of any op as events of their
// own, all in order of begin.
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gait/trace.h>

#include "analyse/ops/op_blocks.h"
#include "analyse/ops/op_event.h"
#include "analyse/ops/op_launches.h"
#include "analyse/ops/op_list.h"
#include "analyse/ops/op_shapes.h"
#include "analyse/ops/op_sites.h"
#include "analyse/ops/op_threads.h"
#include "analyse/time/wrap_add.h"
#include "base/array.h"
#include "base/fail.h"
#include "load/order/open_calls.h"
#include "load/shard_owner.h"
#include "load/site_role.h"

#define MOST_NS 9.2e18 // that an int64_t holds
#define ACCUMULATES "torch::autograd::"
#define EVALUATES "autograd::engine::evaluate_function"
#define FOREIGN_FORWARD "Fwd thread id"
#define OF_2_14 "CallFrom" // functions have it from torch 2.14 on

struct capture {
    struct gait_ops *ops;
    struct gait_trace *trace;
    const struct gait_ops_query *query;
    struct op_sites sites;
    int64_t *tids;           // of each track; CUPTI's cut numbers of pthreads are negative
    bool *is_wanted;         // of each track
    struct open_calls *open; // Python functions, of each track; numbers are stacks
    struct op_blocks blocks;
    struct op_shapes shapes;
    struct op_launches launches;
    struct launch_ops times; // of ops and calls, where a device did anything
    bool has_devices;
    size_t first; // of the ops that are added
};

// --- one event ----------------------------------------------------------------------

static double us_since(const struct capture *capture, int64_t at_ns)
{
    return (double)wrap_subtract(at_ns, capture->query->origin_ns) / 1000.0;
}

// Ops of no function's own thread have none.
static int add_stack(struct capture *capture, const struct gait_event *event, int64_t end_ns,
                     struct gait_op *op)
{
    struct open_calls *open = &capture->open[event->track];
    if (op->flags & GAIT_OP_ASYNC)
        return GAIT_OK;
    const struct open_call *call = open_calls_at(open, event->start_ns);
    op->stack = call ? (uint32_t)call->number : 0;
    if (!(op->flags & GAIT_OP_PYTHON))
        return GAIT_OK;
    const uint64_t pair[2] = {op->stack, op->name};
    uint32_t index;
    int status = tuple_map_add(&capture->ops->stacks, pair, &index);
    return status ? status : open_calls_push(open, end_ns, (uint64_t)index + 1);
}

// Other tools' traces tell no scope: a node of the backward has its forward's thread, if it
// has a forward, and so has the range in which the engine evaluates it.
static bool is_foreign_backward(const struct gait_event *event)
{
    return strncmp(event->name, ACCUMULATES, strlen(ACCUMULATES)) == 0 ||
           (op_event_number(event, FOREIGN_FORWARD, 0) > 0 &&
            strncmp(event->name, EVALUATES, strlen(EVALUATES)) != 0);
}

static uint32_t flags_of(const struct gait_event *event, const struct op_site *site)
{
    uint32_t flags = 0;
    if (site->kind == OP_SITE_PYTHON)
        flags |= GAIT_OP_PYTHON | (op_event_arg(event, OF_2_14) ? GAIT_OP_UNTOLD : 0u);
    else if (event->kind == GAIT_KIND_ASYNC)
        flags |= GAIT_OP_ASYNC;
    if (site->kind == OP_SITE_DEVICE)
        flags |= GAIT_OP_ON_DEVICE;
    if (site->is_range)
        flags |= GAIT_OP_RANGE;
    if (op_event_number(event, "scope", 0) == 1 || is_foreign_backward(event))
        flags |= GAIT_OP_BACKWARD;
    return flags;
}

static int note_time(struct capture *capture, const struct gait_event *event,
                     struct op_launch *launch)
{
    launch->link = launch_ops_link(&capture->times, event->track, event->link);
    if (event->kind != GAIT_KIND_SPAN)
        return GAIT_OK;
    if (launch->is_op)
        return launch_ops_add_op(&capture->times, event->track, event->start_ns, event->duration_ns,
                                 (uint32_t)capture->launches.count);
    if (capture->sites.rows[event->site].kind != OP_SITE_CALL)
        return GAIT_OK;
    return launch_ops_add_call(&capture->times, event->track, event->start_ns, event->link);
}

static int add_shapes(struct capture *capture, const struct gait_event *event, struct gait_op *op)
{
    struct op_call call;
    const int status =
        op_shapes_get(&capture->shapes, op->name, event->args, event->arg_count, &call);
    if (status)
        return status;
    op->shapes = call.shapes;
    op->flops = capture->query->with_flops ? call.flops : 0;
    return GAIT_OK;
}

static int add_op(struct capture *capture, const struct gait_event *event,
                  const struct op_site *site)
{
    const int64_t until_ns = capture->query->until_ns;
    const bool is_device = site->kind == OP_SITE_DEVICE;
    int64_t end_ns = event->start_ns + event->duration_ns;
    if (event->duration_ns < 0)
        end_ns = until_ns;
    struct gait_op op = {
        .start_us = us_since(capture, event->start_ns),
        .end_us = us_since(capture, end_ns),
        .thread = capture->tids[event->track],
        .fwd_thread =
            op_event_number(event, "fwd_thread", op_event_number(event, FOREIGN_FORWARD, 0)),
        .seq = op_event_number(event, "seq", op_event_number(event, "Sequence number", -1)),
        .name = site->name,
        .called = site->called,
        .key = op_site_key(site),
        .flags = flags_of(event, site),
        .shapes = capture->shapes.none.shapes,
        .stack = is_device ? GAIT_OP_NO_STACK : 0,
    };
    struct op_launch launch = {.is_op = site->kind == OP_SITE_OP};
    int status = capture->has_devices ? note_time(capture, event, &launch) : GAIT_OK;
    if (!status && site->kind == OP_SITE_OP && !capture->query->without_shapes)
        status = add_shapes(capture, event, &op);
    if (!status && capture->query->with_stacks && !is_device)
        status = add_stack(capture, event, end_ns, &op);
    if (site->kind == OP_SITE_PYTHON && capture->query->without_functions)
        return status;
    if (!status)
        status = op_launches_add(&capture->launches, &op, launch);
    return status ? status : gait_ops_add(capture->ops, &op, 1);
}

static int see_memory(struct capture *capture, const struct gait_event *event)
{
    return capture->query->with_memory
               ? op_blocks_see(&capture->blocks, event, capture->tids[event->track])
               : GAIT_OK;
}

// Marks are of use where they are allocations.
static int see_site(struct capture *capture, const struct gait_event *event)
{
    const struct op_site *site;
    const int status = op_sites_get(&capture->sites, event->site, &site);
    if (status || site->kind == OP_SITE_OTHER)
        return status;
    if (site->kind == OP_SITE_MEMORY)
        return event->kind == GAIT_KIND_MARK ? see_memory(capture, event) : GAIT_OK;
    return event->kind == GAIT_KIND_MARK ? GAIT_OK : add_op(capture, event, site);
}

// --- all of them --------------------------------------------------------------------

static int read_events(struct capture *capture, struct gait_cursor *cursor)
{
    const struct gait_ops_query *query = capture->query;
    struct gait_event event;
    for (;;) {
        int status = gait_cursor_next(cursor, &event);
        if (status <= 0)
            return status;
        if (event.start_ns < query->since_ns || event.start_ns >= query->until_ns ||
            !capture->is_wanted[event.track])
            continue;
        status = event.kind == GAIT_KIND_MEMORY ? see_memory(capture, &event)
                                                : see_site(capture, &event);
        if (status)
            return status;
    }
}

static int list_tracks(struct capture *capture, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct gait_track_info track;
        struct gait_shard_info shard;
        int status = gait_trace_track(capture->trace, i, &track);
        if (!status)
            status = gait_trace_shard(capture->trace, track.shard, &shard);
        if (status)
            return status;
        capture->is_wanted[i] =
            !track.internal && (!capture->query->pid || capture->query->pid == shard.pid) &&
            (!capture->query->only_shard ||
             capture->query->only_shard == shard_owner(capture->trace, track.shard) + 1);
        capture->tids[i] = track.tid;
    }
    return GAIT_OK;
}

// --- memory -------------------------------------------------------------------------

static int64_t ns_of(const struct capture *capture, double us)
{
    const double ns = fmax(-MOST_NS, fmin(us * 1000.0, MOST_NS));
    return wrap_add(capture->query->origin_ns, (int64_t)(ns < 0 ? ns - 0.5 : ns + 0.5));
}

static int add_loose_memory(struct capture *capture)
{
    uint32_t name;
    int status = op_texts_add(&capture->ops->texts, slice_of("[memory]"), &name);
    for (size_t i = 0; !status && i < capture->blocks.memory.count; i++) {
        const struct op_memory_event *change = &capture->blocks.memory.events[i];
        const double at_us = us_since(capture, change->at_ns);
        const struct gait_op op = {
            .start_us = at_us,
            .end_us = at_us,
            .thread = change->thread,
            .seq = -1,
            .name = name,
            .called = name,
            .key = name * 4,
            .shapes = capture->shapes.none.shapes,
            .cpu_bytes = change->is_device ? 0 : change->bytes,
            .device_bytes = change->is_device ? change->bytes : 0,
        };
        if (!change->is_within)
            status = gait_ops_add(capture->ops, &op, 1);
    }
    return status;
}

static int add_memory(struct capture *capture)
{
    struct gait_ops *ops = capture->ops;
    int status = op_memory_sum(&capture->blocks.memory);
    for (size_t i = capture->first; !status && i < ops->count; i++) {
        struct gait_op *op = &ops->ops[i];
        if (op->flags & GAIT_OP_ON_DEVICE)
            continue;
        const struct op_memory_sums sums = op_memory_take(
            &capture->blocks.memory, ns_of(capture, op->start_us), ns_of(capture, op->end_us));
        op->cpu_bytes = sums.cpu_bytes;
        op->device_bytes = sums.device_bytes;
    }
    op_memory_close(&capture->blocks.memory);
    return status ? status : add_loose_memory(capture);
}

static int by_start(const void *left, const void *right)
{
    const struct gait_op *a = left, *b = right;
    if (a->start_us != b->start_us)
        return a->start_us < b->start_us ? -1 : 1;
    if (a->end_us != b->end_us)
        return a->end_us > b->end_us ? -1 : 1;
    return a->kernel_us < b->kernel_us ? -1 : a->kernel_us > b->kernel_us;
}

// The place in the list stands in for kernels until they are joined.
static int sort(struct capture *capture)
{
    struct gait_op *ops = capture->ops->ops + capture->first;
    const size_t count = capture->ops->count - capture->first;
    int status = GAIT_OK;
    for (size_t i = capture->launches.count; !status && i < count; i++) // loose memory
        status = op_launches_add(&capture->launches, &ops[i], (struct op_launch){.is_op = true});
    for (size_t i = 0; i < count; i++)
        ops[i].kernel_us = (double)i;
    qsort(ops, count, sizeof *ops, by_start);
    return status ? status : op_launches_join(&capture->launches, &capture->times, ops, count);
}

static int read_all(struct capture *capture)
{
    const struct gait_ops_query *query = capture->query;
    struct gait_query wanted = {
        .size = sizeof wanted,
        .kinds = 1u << GAIT_KIND_SPAN | 1u << GAIT_KIND_ASYNC,
        .since_ns = query->since_ns,
        .until_ns = query->until_ns,
    };
    struct gait_cursor *cursor = NULL;
    if (query->with_memory)
        wanted.kinds |= 1u << GAIT_KIND_MEMORY | 1u << GAIT_KIND_MARK;
    int status = gait_cursor_open(capture->trace, &wanted, &cursor);
    if (!status)
        status = read_events(capture, cursor);
    gait_cursor_close(cursor);
    if (!status && query->with_stacks && capture->ops->count > capture->first)
        status = op_threads_match(capture->ops->ops + capture->first,
                                  capture->ops->count - capture->first);
    if (!status && query->with_memory)
        status = add_memory(capture);
    if (!status && capture->ops->count > capture->first)
        status = sort(capture);
    return status;
}

int gait_ops_read(struct gait_ops *ops, struct gait_trace *trace,
                  const struct gait_ops_query *query)
{
    if (!ops || !trace || !query || query->size != sizeof *query)
        return fail(GAIT_ERR_ARGUMENT,
                    "ops, trace and query must not be NULL, and query->size must be sizeof *query");
    if (ops->nodes)
        return fail(GAIT_ERR_STATE, "the tree of these ops is already built");
    const uint32_t tracks = gait_trace_track_count(trace);
    struct capture capture = {
        .ops = ops,
        .trace = trace,
        .query = query,
        .first = ops->count,
        .has_devices = site_role_any(trace, ROLES_OF_DEVICES),
        .tids = calloc((size_t)tracks + 1, sizeof *capture.tids),
        .is_wanted = calloc((size_t)tracks + 1, sizeof *capture.is_wanted),
        .open = calloc((size_t)tracks + 1, sizeof *capture.open),
    };
    int status = GAIT_OK;
    launch_ops_init(&capture.times, trace);
    op_blocks_init(&capture.blocks);
    if (!capture.tids || !capture.is_wanted || !capture.open)
        status = fail(GAIT_ERR_MEMORY, "no memory to read ops");
    if (!status)
        status = op_sites_init(&capture.sites, trace, query, &ops->texts);
    if (!status)
        status = op_shapes_init(&capture.shapes, &ops->texts);
    if (!status)
        status = list_tracks(&capture, tracks);
    if (!status)
        status = read_all(&capture);
    op_blocks_finish(&capture.blocks);
    op_sites_finish(&capture.sites);
    op_shapes_finish(&capture.shapes);
    op_launches_finish(&capture.launches);
    launch_ops_finish(&capture.times);
    for (uint32_t i = 0; capture.open && i < tracks; i++)
        open_calls_finish(&capture.open[i]);
    free(capture.open);
    free(capture.tids);
    free(capture.is_wanted);
    return status;
}
