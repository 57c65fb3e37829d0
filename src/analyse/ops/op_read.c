// SPDX-License-Identifier: Apache-2.0
// From a trace to a list as torch.profiler would have it: its utility ops left
// out, steps under one name, allocations outside of any op as events of their
// own, all in order of begin.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gait/trace.h>

#include "analyse/memory/op_memory.h"
#include "analyse/ops/flops.h"
#include "analyse/ops/op_list.h"
#include "analyse/ops/op_threads.h"
#include "analyse/ops/shape_text.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/fail.h"
#include "load/order/open_calls.h"
#include "vocabulary/roles.h"

#define MOST_TEXT (1u << 20)

enum site_kind { SITE_UNKNOWN, SITE_OTHER, SITE_OP, SITE_RANGE, SITE_PYTHON };

struct known_site {
    enum site_kind kind;
    uint32_t name, called;
};

// What follows from a name and a text of arguments.
struct known_call {
    int64_t flops;
    uint32_t shapes;
};

// Which addresses are of blocks that were allocated on record.
struct live_set {
    struct tuple_map addresses;
    bool *is_live;
    size_t room;
};

struct capture {
    struct gait_ops *ops;
    struct gait_trace *trace;
    const struct gait_ops_query *query;
    struct known_site *sites;
    int64_t *tids;           // of each track; -1: not looked at
    struct open_calls *open; // Python functions, of each track; numbers are stacks
    struct op_memory memory;
    struct live_set live;
    struct tuple_map call_keys; // name and arguments
    struct known_call *calls;
    size_t call_room;
    struct buffer sizes; // of one call's arguments
    uint32_t no_shapes;
    size_t first; // of the ops that are added
};

// --- names --------------------------------------------------------------------------

static bool is_left_out(const char *name)
{
    static const char *const names[] = {
        "profiler::_record_function_enter",
        "profiler::_record_function_enter_new",
        "profiler::_record_function_exit",
        "aten::is_leaf",
        "aten::output_nr",
        "aten::_version",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

static int add_text(struct capture *capture, const char *text, uint32_t *ret_number)
{
    return op_texts_add(&capture->ops->texts, slice_of(text), ret_number);
}

static int learn_site(struct capture *capture, const struct gait_event *event,
                      struct known_site *site)
{
    const enum role role = role_of(event->category, event->name);
    const bool is_op = role == ROLE_OP;
    const bool is_range = role_is_range(role) || role == ROLE_MODULE_BACKWARD;
    const bool is_python = capture->query->with_stacks && role == ROLE_PYTHON;
    site->kind = SITE_OTHER;
    if ((!is_op && !is_range && !is_python) || is_left_out(event->name))
        return GAIT_OK;
    int status = add_text(capture, event->name, &site->called);
    if (!status)
        status = add_text(capture, role == ROLE_STEP ? "ProfilerStep*" : event->name, &site->name);
    if (!status)
        site->kind = is_op ? SITE_OP : is_range ? SITE_RANGE : SITE_PYTHON;
    return status;
}

// --- one event ----------------------------------------------------------------------

static const struct gait_arg *arg_of(const struct gait_event *event, const char *key)
{
    for (size_t i = 0; i < event->arg_count; i++) {
        if (strcmp(event->args[i].key, key) == 0)
            return &event->args[i];
    }
    return NULL;
}

static int64_t number_of(const struct gait_event *event, const char *key, int64_t otherwise)
{
    const struct gait_arg *arg = arg_of(event, key);
    return arg && arg->kind == GAIT_ARG_INT ? arg->integer : otherwise;
}

static int learn_call(struct capture *capture, const struct gait_op *op, uint32_t args,
                      struct known_call *call)
{
    struct op_texts *texts = &capture->ops->texts;
    const char *text = op_texts_get(texts, args);
    call->flops = (int64_t)flops_of(op_texts_get(texts, op->name), text, FLOPS_TABLE);
    int status = shape_text_sizes(text, &capture->sizes);
    const struct slice sizes = {capture->sizes.bytes, capture->sizes.used};
    return status ? status : op_texts_add(texts, sizes, &call->shapes);
}

static int add_shapes(struct capture *capture, const struct gait_event *event, struct gait_op *op)
{
    const struct array_shape shape = {sizeof *capture->calls, UINT32_MAX};
    const struct gait_arg *shapes = arg_of(event, "shapes");
    const size_t known = capture->call_keys.count;
    uint32_t args, index;
    op->shapes = capture->no_shapes;
    if (!shapes || shapes->kind != GAIT_ARG_TEXT || capture->query->without_shapes)
        return GAIT_OK;
    const struct slice text = {(const uint8_t *)shapes->text, shapes->text_bytes};
    int status = op_texts_add(&capture->ops->texts, text, &args);
    const uint64_t key[2] = {op->name, args};
    if (!status)
        status = tuple_map_add(&capture->call_keys, key, &index);
    if (!status)
        status = array_reserve((void **)&capture->calls, &capture->call_room,
                               capture->call_keys.count, shape);
    if (!status && capture->call_keys.count > known)
        status = learn_call(capture, op, args, &capture->calls[index]);
    if (status)
        return status;
    op->shapes = capture->calls[index].shapes;
    op->flops = capture->query->with_flops ? capture->calls[index].flops : 0;
    return GAIT_OK;
}

static double us_since(const struct capture *capture, int64_t at_ns)
{
    return (double)(at_ns - capture->query->origin_ns) / 1000.0;
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

static int add_op(struct capture *capture, const struct gait_event *event,
                  const struct known_site *site)
{
    const int64_t until_ns = capture->query->until_ns;
    int64_t end_ns = event->start_ns + event->duration_ns;
    if (event->duration_ns < 0)
        end_ns = until_ns;
    struct gait_op op = {
        .start_us = us_since(capture, event->start_ns),
        .end_us = us_since(capture, end_ns),
        .thread = capture->tids[event->track],
        .fwd_thread = number_of(event, "fwd_thread", 0),
        .seq = number_of(event, "seq", -1),
        .name = site->name,
        .called = site->called,
        .key = site->name * 2 + (site->kind == SITE_RANGE),
    };
    if (site->kind == SITE_PYTHON)
        op.flags |= GAIT_OP_PYTHON;
    else if (event->kind == GAIT_KIND_ASYNC)
        op.flags |= GAIT_OP_ASYNC;
    if (site->kind == SITE_RANGE)
        op.flags |= GAIT_OP_RANGE;
    if (number_of(event, "scope", 0) == 1)
        op.flags |= GAIT_OP_BACKWARD;
    int status = add_shapes(capture, event, &op);
    if (!status && capture->query->with_stacks)
        status = add_stack(capture, event, end_ns, &op);
    return status ? status : gait_ops_add(capture->ops, &op, 1);
}

static int see_span(struct capture *capture, const struct gait_event *event)
{
    struct known_site *site = &capture->sites[event->site];
    int status = GAIT_OK;
    if (site->kind == SITE_UNKNOWN)
        status = learn_site(capture, event, site);
    if (status || site->kind == SITE_OTHER)
        return status;
    return add_op(capture, event, site);
}

// Is the release of a block from before the capture? Then torch.profiler does not
// know of it, whatever we do.
static int note_block(struct live_set *live, const struct gait_event *event, bool *ret_is_older)
{
    const struct array_shape shape = {sizeof *live->is_live, UINT32_MAX};
    const size_t known = live->addresses.count;
    uint32_t index;
    int status = tuple_map_add(&live->addresses, &event->id, &index);
    if (!status)
        status = array_reserve((void **)&live->is_live, &live->room, live->addresses.count, shape);
    if (status)
        return status;
    const bool was_live = live->addresses.count == known && live->is_live[index];
    live->is_live[index] = event->value > 0;
    *ret_is_older = event->value <= 0 && !was_live;
    return GAIT_OK;
}

static int see_memory(struct capture *capture, const struct gait_event *event)
{
    bool is_older;
    const struct op_memory_event change = {
        .at_ns = event->start_ns,
        .bytes = event->value,
        .thread = capture->tids[event->track],
        .is_device = strcmp(event->name, "cpu") != 0,
    };
    int status = note_block(&capture->live, event, &is_older);
    return status || is_older ? status : op_memory_add(&capture->memory, &change);
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
            capture->tids[event.track] < 0)
            continue;
        status = event.kind == GAIT_KIND_MEMORY ? see_memory(capture, &event)
                                                : see_span(capture, &event);
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
        const bool is_wanted =
            !track.internal && (!capture->query->pid || capture->query->pid == shard.pid);
        capture->tids[i] = is_wanted ? track.tid : -1;
    }
    return GAIT_OK;
}

// --- memory -------------------------------------------------------------------------

static int64_t ns_of(const struct capture *capture, double us)
{
    const double ns = us * 1000.0;
    return capture->query->origin_ns + (int64_t)(ns < 0 ? ns - 0.5 : ns + 0.5);
}

static int add_loose_memory(struct capture *capture)
{
    uint32_t name;
    int status = add_text(capture, "[memory]", &name);
    for (size_t i = 0; !status && i < capture->memory.count; i++) {
        const struct op_memory_event *change = &capture->memory.events[i];
        const double at_us = us_since(capture, change->at_ns);
        const struct gait_op op = {
            .start_us = at_us,
            .end_us = at_us,
            .thread = change->thread,
            .seq = -1,
            .name = name,
            .called = name,
            .key = name * 2,
            .shapes = capture->no_shapes,
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
    int status = op_memory_sum(&capture->memory);
    for (size_t i = capture->first; !status && i < ops->count; i++) {
        struct gait_op *op = &ops->ops[i];
        const struct op_memory_sums sums = op_memory_take(
            &capture->memory, ns_of(capture, op->start_us), ns_of(capture, op->end_us));
        op->cpu_bytes = sums.cpu_bytes;
        op->device_bytes = sums.device_bytes;
    }
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

// The place in the list stands in for kernels, of which there are none here.
static void sort(struct gait_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ops[i].kernel_us = (double)i;
    qsort(ops, count, sizeof *ops, by_start);
    for (size_t i = 0; i < count; i++)
        ops[i].kernel_us = 0;
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
        wanted.kinds |= 1u << GAIT_KIND_MEMORY;
    int status = gait_cursor_open(capture->trace, &wanted, &cursor);
    if (!status)
        status = read_events(capture, cursor);
    gait_cursor_close(cursor);
    if (!status && query->with_stacks)
        status = op_threads_match(capture->ops->ops + capture->first,
                                  capture->ops->count - capture->first);
    if (!status && query->with_memory)
        status = add_memory(capture);
    if (!status && capture->ops->count > capture->first)
        sort(capture->ops->ops + capture->first, capture->ops->count - capture->first);
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
        .sites = calloc((size_t)gait_trace_site_count(trace) + 1, sizeof *capture.sites),
        .tids = calloc((size_t)tracks + 1, sizeof *capture.tids),
        .open = calloc((size_t)tracks + 1, sizeof *capture.open),
    };
    int status = GAIT_OK;
    tuple_map_init(&capture.call_keys, 2);
    buffer_init(&capture.sizes, MOST_TEXT);
    tuple_map_init(&capture.live.addresses, 1);
    if (!capture.sites || !capture.tids || !capture.open)
        status = fail(GAIT_ERR_MEMORY, "no memory to read ops");
    if (!status)
        status = add_text(&capture, "", &capture.no_shapes);
    if (!status)
        status = list_tracks(&capture, tracks);
    if (!status)
        status = read_all(&capture);
    op_memory_finish(&capture.memory);
    tuple_map_finish(&capture.call_keys);
    buffer_finish(&capture.sizes);
    tuple_map_finish(&capture.live.addresses);
    free(capture.live.is_live);
    free(capture.calls);
    for (uint32_t i = 0; capture.open && i < tracks; i++)
        open_calls_finish(&capture.open[i]);
    free(capture.open);
    free(capture.sites);
    free(capture.tids);
    return status;
}
