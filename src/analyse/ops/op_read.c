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
#include "facts/facts.h"
#include "facts/feed.h"
#include "facts/late_rows.h"
#include "load/arg_keys.h"
#include "load/order/event_feed.h"
#include "load/order/open_calls.h"
#include "load/shard_owner.h"
#include "load/site_role.h"

#define MOST_NS 9.2e18 // that an int64_t holds
#define ACCUMULATES "torch::autograd::"
#define EVALUATES "autograd::engine::evaluate_function"

enum { SEQ, FOREIGN_SEQ, FORWARD, FOREIGN_FORWARD, SCOPE, OF_2_14, KEYS };
static const char *const key_names[KEYS] = {
    "seq",           "Sequence number", "fwd_thread",
    "Fwd thread id", "scope",           "CallFrom", // functions have that from torch 2.14 on
};

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
    bool has_devices;
    size_t first;   // of the ops that are added
    uint8_t *kinds; // of a site, for the feed
    struct feed feed;
    struct arg_keys keys, shape_keys;
    struct late_rows late;
    struct event_feed others; // of the rank that is read: what is no span
};

// An event that goes into the list.
struct seen {
    uint32_t track;
    int64_t start_ns, end_ns;
    bool is_async;
    const struct op_site *site;
    const struct gait_arg *args, *shapes; // by their keys
    struct op_launch launch;
};

// --- one event ----------------------------------------------------------------------

static double us_since(const struct capture *capture, int64_t at_ns)
{
    return (double)wrap_subtract(at_ns, capture->query->origin_ns) / 1000.0;
}

// Ops of no function's own thread have none.
static int add_stack(struct capture *capture, const struct seen *seen, struct gait_op *op)
{
    struct open_calls *open = &capture->open[seen->track];
    if (op->flags & GAIT_OP_ASYNC)
        return GAIT_OK;
    const struct open_call *call = open_calls_at(open, seen->start_ns);
    op->stack = call ? (uint32_t)call->number : 0;
    if (!(op->flags & GAIT_OP_PYTHON))
        return GAIT_OK;
    const uint64_t pair[2] = {op->stack, op->name};
    uint32_t index;
    int status = tuple_map_add(&capture->ops->stacks, pair, &index);
    return status ? status : open_calls_push(open, seen->end_ns, (uint64_t)index + 1);
}

static int64_t number_in(const struct gait_arg *arg, int64_t otherwise)
{
    return arg->key && arg->kind == GAIT_ARG_INT ? arg->integer : otherwise;
}

// Other tools' traces tell no scope: a node of the backward has its forward's thread, if it
// has a forward, and so has the range in which the engine evaluates it.
static bool is_foreign_backward(const struct seen *seen, const char *name)
{
    return strncmp(name, ACCUMULATES, strlen(ACCUMULATES)) == 0 ||
           (number_in(&seen->args[FOREIGN_FORWARD], 0) > 0 &&
            strncmp(name, EVALUATES, strlen(EVALUATES)) != 0);
}

static uint32_t flags_of(const struct seen *seen, const char *name)
{
    const struct op_site *site = seen->site;
    uint32_t flags = 0;
    if (site->kind == OP_SITE_PYTHON)
        flags |= GAIT_OP_PYTHON | (seen->args[OF_2_14].key ? GAIT_OP_UNTOLD : 0u);
    else if (seen->is_async)
        flags |= GAIT_OP_ASYNC;
    if (site->kind == OP_SITE_DEVICE)
        flags |= GAIT_OP_ON_DEVICE;
    if (site->is_range)
        flags |= GAIT_OP_RANGE;
    if (number_in(&seen->args[SCOPE], 0) == 1 || is_foreign_backward(seen, name))
        flags |= GAIT_OP_BACKWARD;
    return flags;
}

static int add_shapes(struct capture *capture, const struct seen *seen, struct gait_op *op)
{
    struct op_call call;
    const int status =
        op_shapes_get(&capture->shapes, op->name, seen->shapes, OP_SHAPE_KEYS, &call);
    if (status)
        return status;
    op->shapes = call.shapes;
    op->flops = capture->query->with_flops ? call.flops : 0;
    return GAIT_OK;
}

static int add_op(struct capture *capture, const struct seen *seen)
{
    const struct op_site *site = seen->site;
    const bool is_device = site->kind == OP_SITE_DEVICE;
    const struct gait_arg *args = seen->args;
    struct gait_op op = {
        .start_us = us_since(capture, seen->start_ns),
        .end_us = us_since(capture, seen->end_ns),
        .thread = capture->tids[seen->track],
        .fwd_thread = number_in(&args[FORWARD], number_in(&args[FOREIGN_FORWARD], 0)),
        .seq = number_in(&args[SEQ], number_in(&args[FOREIGN_SEQ], -1)),
        .name = site->name,
        .called = site->called,
        .key = op_site_key(site),
        .flags = flags_of(seen, op_texts_get(&capture->ops->texts, site->called)),
        .shapes = capture->shapes.none.shapes,
        .stack = is_device ? GAIT_OP_NO_STACK : 0,
    };
    int status = GAIT_OK;
    if (site->kind == OP_SITE_OP && !capture->query->without_shapes)
        status = add_shapes(capture, seen, &op);
    if (!status && capture->query->with_stacks && !is_device)
        status = add_stack(capture, seen, &op);
    if (site->kind == OP_SITE_PYTHON && capture->query->without_functions)
        return status;
    if (!status)
        status = op_launches_add(&capture->launches, &op, seen->launch);
    return status ? status : gait_ops_add(capture->ops, &op, 1);
}

// --- what is no span ----------------------------------------------------------------

static int see_memory(struct capture *capture, const struct gait_event *event)
{
    return capture->query->with_memory
               ? op_blocks_see(&capture->blocks, event, capture->tids[event->track])
               : GAIT_OK;
}

static void find_args(const struct gait_event *event, const char *const *keys, size_t count,
                      struct gait_arg *ret_args)
{
    for (size_t i = 0; i < count; i++) {
        const struct gait_arg *arg = op_event_arg(event, keys[i]);
        ret_args[i] = arg ? *arg : (struct gait_arg){.key = NULL};
    }
}

static int see_async(struct capture *capture, const struct gait_event *event)
{
    struct gait_arg args[KEYS], shapes[OP_SHAPE_KEYS];
    const struct seen seen = {
        .track = event->track,
        .start_ns = event->start_ns,
        .end_ns = event->duration_ns < 0 ? capture->query->until_ns
                                         : wrap_add(event->start_ns, event->duration_ns),
        .is_async = true,
        .site = &capture->sites.rows[event->site],
        .args = args,
        .shapes = shapes,
        .launch = {capture->sites.rows[event->site].kind == OP_SITE_OP, OP_LAUNCHED_BY_NONE}};
    find_args(event, key_names, KEYS, args);
    find_args(event, op_shape_keys, OP_SHAPE_KEYS, shapes);
    return add_op(capture, &seen);
}

// Marks are of use where they are allocations.
static int see_other(void *context, const struct gait_event *event)
{
    struct capture *capture = context;
    const struct gait_ops_query *query = capture->query;
    if (event->start_ns < query->since_ns || event->start_ns >= query->until_ns ||
        !capture->is_wanted[event->track])
        return GAIT_OK;
    const enum op_site_kind kind = capture->sites.rows[event->site].kind;
    if (event->kind == GAIT_KIND_MEMORY)
        return see_memory(capture, event);
    if (kind == OP_SITE_MEMORY || event->kind == GAIT_KIND_MARK)
        return kind == OP_SITE_MEMORY && event->kind == GAIT_KIND_MARK ? see_memory(capture, event)
                                                                       : GAIT_OK;
    return kind == OP_SITE_OTHER ? GAIT_OK : see_async(capture, event);
}

static int open_others(struct capture *capture, uint32_t shard)
{
    struct gait_query wanted = {.size = sizeof wanted,
                                .kinds = 1u << GAIT_KIND_ASYNC,
                                .since_ns = capture->query->since_ns,
                                .until_ns = capture->query->until_ns};
    if (capture->query->with_memory)
        wanted.kinds |= 1u << GAIT_KIND_MEMORY | 1u << GAIT_KIND_MARK;
    return event_feed_open(&capture->others, capture->trace, shard, &wanted);
}

// --- spans --------------------------------------------------------------------------

static int note_launch(struct capture *capture, const struct fact_slice *slice,
                       const struct feed_head *head, struct seen *seen)
{
    const struct op_site *site = seen->site;
    seen->launch = (struct op_launch){site->kind == OP_SITE_OP, OP_LAUNCHED_BY_NONE};
    if (site->kind == OP_SITE_PYTHON || !capture->has_devices)
        return GAIT_OK;
    if (seen->launch.is_op)
        return head->end_ns == FACT_OPEN
                   ? GAIT_OK
                   : op_launches_open(
                         &capture->launches,
                         launches_thread(slice->launches, (size_t)(head->track - slice->tracks)),
                         head->start_ns, head->end_ns);
    const struct launch *call =
        launches_find(slice->launches, head->track->shard, head->row->link, head->start_ns);
    if (site->kind != OP_SITE_CALL || !call || call->start_ns != head->start_ns)
        return GAIT_OK;
    const int status = op_launches_call(&capture->launches, call);
    seen->launch.by = op_launches_by(&capture->launches, call);
    return status;
}

struct late_work {
    struct late_row row;
    size_t place; // in the list of launches
};

static int settle(void *context, const struct late_row *row, const struct launch *launch)
{
    const struct capture *capture = context;
    capture->launches.rows[((const struct late_work *)row)->place].by =
        op_launches_by(&capture->launches, launch);
    return GAIT_OK;
}

static int note_work(struct capture *capture, const struct fact_slice *slice,
                     const struct feed_head *head)
{
    const struct late_work work = {{head->row->link, head->start_ns, head->track->shard},
                                   capture->launches.count - 1};
    return late_rows_add(&capture->late, slice->launches, &work.row);
}

static int see_span(struct capture *capture, const struct fact_slice *slice,
                    const struct feed_head *head)
{
    const struct gait_ops_query *query = capture->query;
    struct gait_arg args[KEYS], shapes[OP_SHAPE_KEYS];
    struct seen seen = {.track = head->track->track,
                        .start_ns = head->start_ns,
                        .end_ns = head->end_ns == FACT_OPEN ? query->until_ns : head->end_ns,
                        .site = &capture->sites.rows[head->row->site],
                        .args = args,
                        .shapes = shapes};
    if (head->start_ns < query->since_ns || head->start_ns >= query->until_ns ||
        !capture->is_wanted[seen.track])
        return GAIT_OK;
    int status = fact_args(slice, head->row, &capture->keys, args);
    if (!status && seen.site->kind == OP_SITE_OP && !query->without_shapes)
        status = fact_args(slice, head->row, &capture->shape_keys, shapes);
    if (!status)
        status = note_launch(capture, slice, head, &seen);
    if (!status)
        status = add_op(capture, &seen);
    return status || seen.site->kind != OP_SITE_DEVICE ? status : note_work(capture, slice, head);
}

static int add_slice(void *made, const struct fact_slice *slice)
{
    struct capture *capture = made;
    const struct feed_head *head;
    int status = feed_begin(&capture->feed, slice, capture->kinds);
    while (!status && (head = feed_next(&capture->feed))) {
        status = event_feed_until(&capture->others, head->start_ns, see_other, capture);
        if (!status)
            status = see_span(capture, slice, head);
    }
    return status ? status : late_rows_look(&capture->late, slice);
}

static const struct fact_consumer consumer = {
    .name = "ops one by one",
    .columns = FACT_LINKS | FACT_ARGS,
    .slice = add_slice,
};

static int learn_sites(struct capture *capture)
{
    const uint32_t count = gait_trace_site_count(capture->trace);
    int status = GAIT_OK;
    capture->kinds = malloc((size_t)count + 1);
    if (!capture->kinds)
        return fail(GAIT_ERR_MEMORY, "no memory for %u names", count);
    for (uint32_t i = 0; i < count && !status; i++) {
        const struct op_site *site;
        status = op_sites_get(&capture->sites, i, &site);
        const bool is_left_out = site->kind == OP_SITE_OTHER || site->kind == OP_SITE_MEMORY;
        capture->kinds[i] = is_left_out ? FEED_NO_KIND : site->kind == OP_SITE_DEVICE;
    }
    return status;
}

// Whether a track of the rank is asked for.
static bool is_rank_wanted(const struct capture *capture, uint32_t shard)
{
    const struct track_table *all = &capture->trace->run.tracks;
    for (uint32_t i = 0; i < gait_trace_track_count(capture->trace); i++)
        if (capture->is_wanted[i] &&
            shard_owner(capture->trace, all->tracks[i].info.shard) == shard)
            return true;
    return false;
}

static int read_rank(struct capture *capture, uint32_t shard)
{
    const struct fact_ask ask = {&consumer, capture};
    const struct fact_range range = {shard, capture->query->since_ns, capture->query->until_ns};
    if (!is_rank_wanted(capture, shard))
        return GAIT_OK;
    int status = open_others(capture, shard);
    if (!status)
        status = op_launches_begin_rank(&capture->launches);
    if (!status)
        status = facts_run_rank(capture->trace, &range, &ask, 1);
    if (!status)
        status = event_feed_until(&capture->others, INT64_MAX, see_other, capture);
    event_feed_close(&capture->others);
    return status;
}

static int read_ranks(struct capture *capture)
{
    int status = GAIT_OK;
    for (uint32_t i = 0; i < gait_trace_shard_count(capture->trace) && !status; i++)
        status = read_rank(capture, i);
    return status;
}

// --- all of them --------------------------------------------------------------------

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
    RETURN_IF_APART(a->start_us, b->start_us);
    RETURN_IF_APART(b->end_us, a->end_us);
    return a->kernel_us < b->kernel_us ? -1 : a->kernel_us > b->kernel_us;
}

// The place in the list stands in for kernels until they are joined.
static int sort(struct capture *capture)
{
    struct gait_op *ops = capture->ops->ops + capture->first;
    const size_t count = capture->ops->count - capture->first;
    int status = GAIT_OK;
    for (size_t i = capture->launches.count; !status && i < count; i++) // loose memory
        status = op_launches_add(&capture->launches, &ops[i],
                                 (struct op_launch){.is_op = true, .by = OP_LAUNCHED_BY_NONE});
    for (size_t i = 0; i < count; i++)
        ops[i].kernel_us = (double)i;
    qsort(ops, count, sizeof *ops, by_start);
    return status ? status : op_launches_join(&capture->launches, ops, count);
}

static int read_all(struct capture *capture)
{
    const struct gait_ops_query *query = capture->query;
    int status = read_ranks(capture);
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
    capture.late = (struct late_rows){.settle = settle,
                                      .context = &capture,
                                      .row_bytes = sizeof(struct late_work),
                                      .waits_for_slice = true};
    arg_keys_init(&capture.keys, key_names, KEYS);
    arg_keys_init(&capture.shape_keys, op_shape_keys, OP_SHAPE_KEYS);
    op_blocks_init(&capture.blocks);
    if (!capture.tids || !capture.is_wanted || !capture.open)
        status = fail(GAIT_ERR_MEMORY, "no memory to read ops");
    if (!status)
        status = op_sites_init(&capture.sites, trace, query, &ops->texts);
    if (!status)
        status = op_shapes_init(&capture.shapes, &ops->texts);
    if (!status)
        status = learn_sites(&capture);
    if (!status)
        status = list_tracks(&capture, tracks);
    if (!status)
        status = read_all(&capture);
    op_blocks_finish(&capture.blocks);
    op_sites_finish(&capture.sites);
    op_shapes_finish(&capture.shapes);
    op_launches_finish(&capture.launches);
    late_rows_finish(&capture.late);
    arg_keys_finish(&capture.keys);
    arg_keys_finish(&capture.shape_keys);
    feed_finish(&capture.feed);
    free(capture.kinds);
    for (uint32_t i = 0; capture.open && i < tracks; i++)
        open_calls_finish(&capture.open[i]);
    free(capture.open);
    free(capture.tids);
    free(capture.is_wanted);
    return status;
}
