// SPDX-License-Identifier: Apache-2.0
// As torch.profiler joins them, a call of the runtime is made on the thread of its op, one without
// an op on the thread of the first op on record.
#include "analyse/ops/op_sums.h"

#include <stdlib.h>

#include "analyse/flops/flops.h"
#include "analyse/ops/op_blocks.h"
#include "analyse/ops/op_kept.h"
#include "analyse/ops/op_list.h"
#include "analyse/ops/op_shapes.h"
#include "analyse/ops/op_sites.h"
#include "analyse/ops/op_stack.h"
#include "analyse/time/lower_bound.h"
#include "analyse/time/wrap_add.h"
#include "base/array.h"
#include "base/fail.h"
#include "facts/facts.h"
#include "facts/facts_file.h"
#include "facts/feed.h"
#include "facts/late_rows.h"
#include "load/arg_keys.h"
#include "load/order/event_feed.h"
#include "load/site_role.h"
#include "vocabulary/metadata.h"

enum { MOST_OPEN = 1 << 28, MOST_THREADS = 1 << 28, MAIN_SLOT = 0 };

struct op_lone { // begins and ends on any thread, and so neither calls nor is called
    struct op_first first;
    uint32_t site;
};

struct site_sum { // of a site
    uint32_t row; // + 1; 0: not known yet, or told by shapes
    bool has_formula;
};

struct op_summing {
    const struct op_sums_wish *wish;
    struct gait_trace *trace;
    struct gait_ops *ops;
    struct gait_ops_query query; // no functions, no annotations of devices
    struct op_sites sites;
    struct op_shapes shapes;
    struct op_rows rows;
    struct op_paths paths;
    struct op_blocks blocks;
    struct op_sink sink; // these
    struct op_lone *lone;
    size_t lone_count, lone_room;
    struct site_sum *site_sums;
    uint8_t *kinds; // of a site, for the feed
    bool has_devices, has_device_rows;
    size_t window;           // the last one
    size_t slice_calls;      // of the slice, so many came
    struct op_stack *stacks; // MAIN_SLOT, then of each thread
    size_t stack_count, stack_room;
    uint32_t main_thread;
    uint64_t places;
    struct feed feed;
    struct arg_keys keys;
    struct late_rows late;
};

// --- one event ------------------------------------------------------------------------------

static bool is_in(const struct torch_window *window, int64_t at_ns)
{
    return window->begin_ns <= at_ns && at_ns < window->end_ns;
}

static size_t window_at(struct op_summing *summing, int64_t at_ns)
{
    const struct op_sums_wish *wish = summing->wish;
    if (is_in(&wish->windows[summing->window], at_ns)) // of the event before
        return summing->window;
    if (at_ns == INT64_MAX) // no window lasts longer
        return SIZE_MAX;
    const size_t at =
        lower_bound(&wish->windows->end_ns, wish->window_count, sizeof *wish->windows, at_ns + 1);
    if (at == wish->window_count || !is_in(&wish->windows[at], at_ns))
        return SIZE_MAX;
    return summing->window = at;
}

// False: in no window.
static bool find_first(struct op_summing *summing, int64_t start_ns, int64_t end_ns,
                       struct op_first *ret_first)
{
    const size_t window = window_at(summing, start_ns);
    if (window == SIZE_MAX)
        return false;
    if (end_ns == FACT_OPEN)
        end_ns = summing->wish->windows[window].end_ns;
    *ret_first = (struct op_first){start_ns, end_ns, summing->places++, (uint32_t)window};
    return true;
}

static bool is_chosen(const struct op_summing *summing, int64_t at_ns)
{
    return chosen_has(summing->wish->chosen, summing->wish->shard, at_ns);
}

static int find_call(struct op_summing *summing, const struct fact_slice *slice,
                     const struct fact_row *row, uint32_t name, struct op_call *ret_call)
{
    struct gait_arg args[OP_SHAPE_KEYS];
    *ret_call = summing->shapes.none;
    if (!summing->wish->by_shapes && !summing->site_sums[row->site].has_formula)
        return GAIT_OK;
    const int status = fact_args(slice, row, &summing->keys, args);
    return status ? status : op_shapes_get(&summing->shapes, name, args, OP_SHAPE_KEYS, ret_call);
}

static int find_row(struct op_summing *summing, uint32_t number, const struct op_site *site,
                    uint32_t shapes, uint32_t *ret_row)
{
    struct site_sum *known = &summing->site_sums[number];
    *ret_row = known->row - 1;
    if (known->row)
        return GAIT_OK;
    const int status = op_rows_get(&summing->rows, site, shapes, ret_row);
    if (!status && !summing->wish->by_shapes)
        known->row = *ret_row + 1;
    return status;
}

// --- devices --------------------------------------------------------------------------------

struct late_work {
    struct late_row row;
    struct op_first first;
    uint32_t site;
};

static int settle(void *context, const struct late_row *row, const struct launch *launch)
{
    struct op_summing *summing = context;
    const struct late_work *work = (const struct late_work *)row;
    const int64_t length = (int64_t)op_length_ns(&work->first);
    uint32_t number;
    if (!is_chosen(summing, late_row_counts_ns(row, launch)))
        return GAIT_OK;
    const int status = find_row(summing, work->site, &summing->sites.rows[work->site],
                                summing->shapes.none.shapes, &number);
    if (status)
        return status;
    struct op_row *sums = &summing->rows.rows[number];
    op_rows_count(&summing->rows, number, &work->first);
    sums->device_ns = wrap_add(sums->device_ns, length);
    sums->self_device_ns = wrap_add(sums->self_device_ns, length);
    summing->has_device_rows = true;
    if (launch)
        op_paths_run(&summing->paths, launch->number, length);
    return GAIT_OK;
}

static int add_device(struct op_summing *summing, const struct fact_slice *slice,
                      const struct fact_rows *track, const struct fact_row *row)
{
    struct late_work work = {.row = {row->link, row->start_ns, track->shard}, .site = row->site};
    const struct op_site *site;
    const int status = op_sites_get(&summing->sites, row->site, &site);
    return status || site->kind != OP_SITE_DEVICE ||
                   !find_first(summing, row->start_ns, row->end_ns, &work.first)
               ? status
               : late_rows_add(&summing->late, slice->launches, &work.row);
}

// --- slices ---------------------------------------------------------------------------------

static int stack_of(struct op_summing *summing, uint32_t thread, struct op_stack **ret_stack)
{
    const size_t slot =
        thread == LAUNCH_NO_THREAD || thread == summing->main_thread ? MAIN_SLOT : thread + 1;
    const int status = ARRAY_RESERVE(summing->stacks, summing->stack_room, slot + 1, MOST_THREADS);
    if (status)
        return status;
    for (; summing->stack_count <= slot; summing->stack_count++)
        summing->stacks[summing->stack_count] = (struct op_stack){.depth = 0};
    *ret_stack = &summing->stacks[slot];
    return GAIT_OK;
}

// Calls come in the order in which they were looked at; those that are in no window were skipped.
static const struct launch *next_call(struct op_summing *summing, const struct launches *launches,
                                      const struct fact_row *row)
{
    const struct launch *calls = launches->calls;
    size_t *at = &summing->slice_calls;
    while (*at < launches->slice_calls && calls[*at].start_ns < row->start_ns)
        ++*at;
    for (size_t i = *at; i < launches->slice_calls && calls[i].start_ns == row->start_ns; i++)
        if (calls[i].link == row->link) {
            *at = i + 1;
            return &calls[i];
        }
    return NULL;
}

static int add_call(struct op_summing *summing, const struct fact_slice *slice,
                    const struct feed_head *head, const struct op_begun *op)
{
    const struct fact_row *row = head->row;
    const bool is_call = row->link && site_role(summing->trace, row->site) == ROLE_RUNTIME;
    const struct launch *call = is_call ? next_call(summing, slice->launches, row) : NULL;
    struct op_stack *stack;
    int status = stack_of(summing, call ? call->thread : LAUNCH_NO_THREAD, &stack);
    if (!status && call && call->thread != LAUNCH_NO_THREAD)
        status = op_stack_launch(stack, &summing->sink, call->number, row->start_ns);
    return status ? status : op_stack_enter(stack, &summing->sink, op);
}

static int add_on_own(struct op_summing *summing, uint32_t thread, const struct op_begun *op)
{
    struct op_stack *stack;
    if (op->is_op && summing->main_thread == LAUNCH_NO_THREAD)
        summing->main_thread = thread;
    const int status = stack_of(summing, thread, &stack);
    return status ? status : op_stack_enter(stack, &summing->sink, op);
}

static int add_host(struct op_summing *summing, const struct fact_slice *slice,
                    const struct feed_head *head)
{
    const struct op_site *site = &summing->sites.rows[head->row->site];
    struct op_begun op = {.name = site->name, .is_op = site->kind == OP_SITE_OP};
    struct op_call call = summing->shapes.none;
    if (!find_first(summing, head->start_ns, head->end_ns, &op.first))
        return GAIT_OK;
    int status = op.is_op ? find_call(summing, slice, head->row, site->name, &call) : GAIT_OK;
    if (!status)
        status = find_row(summing, head->row->site, site, call.shapes, &op.row);
    if (status)
        return status;
    op.flops = (uint64_t)call.flops;
    op.is_left_out = !is_chosen(summing, head->start_ns);
    if (!op.is_op && summing->has_devices)
        return add_call(summing, slice, head, &op);
    return add_on_own(summing,
                      launches_thread(slice->launches, (size_t)(head->track - slice->tracks)), &op);
}

static int add_slice(void *made, const struct fact_slice *slice)
{
    struct op_summing *summing = made;
    const struct feed_head *head;
    int status = feed_begin(&summing->feed, slice, summing->kinds);
    summing->slice_calls = 0;
    while (!status && (head = feed_next(&summing->feed)))
        status = add_host(summing, slice, head);
    for (size_t i = 0; i < slice->count && summing->has_devices; i++) {
        const struct fact_rows *track = &slice->tracks[i];
        for (size_t at = 0; at < track->count && !status; at++)
            if (role_is_device_work(site_role(summing->trace, track->rows[at].site)))
                status = add_device(summing, slice, track, &track->rows[at]);
    }
    return status ? status : late_rows_look(&summing->late, slice);
}

static const struct fact_consumer consumer = {
    .name = "ops",
    .columns = FACT_LINKS | FACT_ARGS,
    .slice = add_slice,
};

// --- what is no span ------------------------------------------------------------------------

static int see_other(void *context, const struct gait_event *event)
{
    struct op_summing *summing = context;
    const struct op_site *site = &summing->sites.rows[event->site];
    struct op_first first;
    const int64_t end_ns =
        event->duration_ns < 0 ? FACT_OPEN : wrap_add(event->start_ns, event->duration_ns);
    if (!find_first(summing, event->start_ns, end_ns, &first))
        return GAIT_OK;
    if (event->kind == GAIT_KIND_MEMORY ||
        (event->kind == GAIT_KIND_MARK && site->kind == OP_SITE_MEMORY))
        return op_blocks_see(&summing->blocks, event, 0);
    if (event->kind == GAIT_KIND_MARK || summing->kinds[event->site] == FEED_NO_KIND)
        return GAIT_OK;
    return ARRAY_ADD(summing->lone, summing->lone_count, summing->lone_room, MOST_OPEN,
                     &(struct op_lone){first, event->site});
}

static int add_lone(struct op_summing *summing)
{
    int status = GAIT_OK;
    for (size_t i = 0; i < summing->lone_count && !status; i++) {
        const struct op_lone *lone = &summing->lone[i];
        const bool is_counted = is_chosen(summing, lone->first.start_ns);
        struct op_bytes bytes = {.all = {0}};
        uint32_t number;
        op_stack_take_bytes(&summing->sink, &lone->first, bytes.all);
        status = find_row(summing, lone->site, &summing->sites.rows[lone->site],
                          summing->shapes.none.shapes, &number);
        if (status || !is_counted)
            continue;
        struct op_row *row = &summing->rows.rows[number];
        op_rows_count(&summing->rows, number, &lone->first);
        row->total_ns += op_length_ns(&lone->first);
        for (int k = 0; k < OP_ROW_MEMORIES; k++)
            row->bytes[k] = wrap_add(row->bytes[k], bytes.all[k]);
    }
    return status;
}

static int read_others(struct op_summing *summing)
{
    const struct op_sums_wish *wish = summing->wish;
    struct gait_query query = {.size = sizeof query,
                               .kinds = 1u << GAIT_KIND_MEMORY | 1u << GAIT_KIND_MARK |
                                        1u << GAIT_KIND_ASYNC,
                               .since_ns = wish->windows[0].begin_ns,
                               .until_ns = wish->windows[wish->window_count - 1].end_ns};
    struct event_feed others = {.cursor = NULL};
    int status = event_feed_open(&others, summing->trace, wish->shard, &query);
    if (!status)
        status = event_feed_until(&others, INT64_MAX, see_other, summing);
    event_feed_close(&others);
    if (!status)
        status = op_memory_sum(&summing->blocks.memory);
    return status ? status : add_lone(summing);
}

// Of no op's time.
static int add_loose_memory(struct op_summing *summing)
{
    struct op_memory *memory = &summing->blocks.memory;
    struct op_site site = {.kind = OP_SITE_OP};
    uint32_t number = 0;
    bool is_known = false;
    int status = op_texts_add(&summing->ops->texts, slice_of("[memory]"), &site.name);
    op_memory_close(memory);
    for (size_t i = 0; i < memory->count && !status; i++) {
        const struct op_memory_event *change = &memory->events[i];
        struct op_first first;
        if (change->is_within || !is_chosen(summing, change->at_ns) ||
            !find_first(summing, change->at_ns, change->at_ns, &first))
            continue;
        if (!is_known)
            status = op_rows_get(&summing->rows, &site, summing->shapes.none.shapes, &number);
        if (status)
            break;
        is_known = true;
        struct op_row *row = &summing->rows.rows[number];
        const int device = change->is_device ? OP_ROW_DEVICE : OP_ROW_HOST;
        op_rows_count(&summing->rows, number, &first);
        row->bytes[device] = wrap_add(row->bytes[device], change->bytes);
        row->self_bytes[device] = wrap_add(row->self_bytes[device], change->bytes);
    }
    return status;
}

// --- all ------------------------------------------------------------------------------------

static int learn_sites(struct op_summing *summing)
{
    const uint32_t count = gait_trace_site_count(summing->trace);
    int status = GAIT_OK;
    summing->site_sums = calloc((size_t)count + 1, sizeof *summing->site_sums);
    summing->kinds = malloc((size_t)count + 1);
    if (!summing->site_sums || !summing->kinds)
        return fail(GAIT_ERR_MEMORY, "no memory for %u names", count);
    for (uint32_t i = 0; i < count && !status; i++) {
        const struct op_site *site;
        status = op_sites_get(&summing->sites, i, &site);
        const bool is_host = site->kind == OP_SITE_OP || site->kind == OP_SITE_CALL;
        summing->kinds[i] = is_host ? 0 : FEED_NO_KIND;
        summing->site_sums[i].has_formula =
            site->kind == OP_SITE_OP &&
            flops_has(op_texts_get(&summing->ops->texts, site->name), FLOPS_TABLE);
    }
    return status;
}

// All but the stream of spans.
static int begin_sums(struct op_summing *summing)
{
    arg_keys_init(&summing->keys, op_shape_keys, OP_SHAPE_KEYS);
    summing->late = (struct late_rows){
        .settle = settle, .context = summing, .row_bytes = sizeof(struct late_work)};
    int status =
        op_sites_init(&summing->sites, summing->trace, &summing->query, &summing->ops->texts);
    if (!status)
        status = op_shapes_init(&summing->shapes, &summing->ops->texts);
    if (!status)
        status = op_paths_init(&summing->paths, &summing->rows);
    if (!status)
        status = learn_sites(summing);
    return status ? status : read_others(summing);
}

static int end_sums(struct op_summing *summing)
{
    for (size_t i = 0; i < summing->stack_count; i++)
        op_stack_leave_all(&summing->stacks[i], &summing->sink);
    int status = add_loose_memory(summing);
    if (!status)
        status = op_paths_sum(&summing->paths);
    return status ? status
                  : op_rows_tell(&summing->rows, summing->ops,
                                 summing->has_device_rows ? GAIT_OP_HAS_DEVICE : 0u);
}

static int sum_all(struct op_summing *summing)
{
    const struct fact_ask ask = {&consumer, summing};
    const struct op_sums_wish *wish = summing->wish;
    const struct fact_range range = {.shard = wish->shard,
                                     .since_ns = wish->windows[0].begin_ns,
                                     .until_ns = wish->windows[wish->window_count - 1].end_ns};
    int status = begin_sums(summing);
    if (!status)
        status = facts_run_rank(summing->trace, &range, &ask, 1);
    return status ? status : end_sums(summing);
}

static void init(struct op_summing *summing, struct gait_ops *ops, struct gait_trace *trace,
                 const struct op_sums_wish *wish)
{
    *summing = (struct op_summing){
        .wish = wish,
        .trace = trace,
        .ops = ops,
        .query = {.size = sizeof summing->query},
        .has_devices = site_role_any(trace, ROLES_OF_DEVICES),
        .main_thread = LAUNCH_NO_THREAD,
    };
    op_rows_init(&summing->rows);
    op_blocks_init(&summing->blocks);
    summing->sink = (struct op_sink){&summing->rows, &summing->paths, &summing->blocks.memory};
}

static void finish(struct op_summing *summing)
{
    for (size_t i = 0; i < summing->stack_count; i++)
        op_stack_finish(&summing->stacks[i]);
    free(summing->stacks);
    free(summing->lone);
    free(summing->site_sums);
    free(summing->kinds);
    op_sites_finish(&summing->sites);
    op_shapes_finish(&summing->shapes);
    op_rows_finish(&summing->rows);
    op_paths_finish(&summing->paths);
    op_blocks_finish(&summing->blocks);
    feed_finish(&summing->feed);
    arg_keys_finish(&summing->keys);
    late_rows_finish(&summing->late);
}

// Whether it is what a file of facts keeps: all of a process of another tool's trace.
static bool is_whole(const struct gait_trace *trace, const struct op_sums_wish *wish)
{
    const struct gait_shard_info *shard = &trace->run.shards[wish->shard]->info;
    return gait_trace_metadata(trace, wish->shard, meta.import) && !wish->by_shapes &&
           !wish->chosen && wish->window_count == 1 &&
           wish->windows[0].begin_ns <= shard->start_ns && wish->windows[0].end_ns > shard->end_ns;
}

static int sum_up(struct gait_ops *ops, struct gait_trace *trace, const struct op_sums_wish *wish)
{
    struct op_summing summing;
    init(&summing, ops, trace, wish);
    const int status = sum_all(&summing);
    finish(&summing);
    return status;
}

int op_sums_make(struct gait_ops *ops, struct gait_trace *trace, const struct op_sums_wish *wish,
                 const struct gait_op_sums **ret_rows, size_t *ret_count)
{
    struct facts_file *file = NULL;
    int status = is_whole(trace, wish) ? facts_file_open(&file, trace, wish->shard) : GAIT_OK;
    const int is_there = status || !file ? status : op_kept_load(ops, file);
    if (!is_there)
        status = sum_up(ops, trace, wish);
    else if (is_there < 0)
        status = is_there;
    if (!status && !is_there && file)
        status = op_kept_save(ops, file);
    facts_file_close(file);
    *ret_rows = ops->rows;
    *ret_count = ops->row_count;
    return status;
}

// --- in one reading with others ---------------------------------------------------------------

struct op_keeping {
    struct gait_ops *ops;
    struct op_sums_wish wish; // all of the process
    struct torch_window all;
    struct op_summing summing;
    bool is_wanted, is_begun;
};

static int keep_begin(void *part, const struct gait_trace *trace, uint32_t shard, void *answer)
{
    struct op_keeping *keeping = part;
    const struct gait_shard_info *info = &trace->run.shards[shard]->info;
    (void)answer;
    keeping->is_wanted =
        gait_trace_metadata(trace, shard, meta.import) && site_role_any(trace, ROLE_BIT(ROLE_OP));
    if (!keeping->is_wanted)
        return GAIT_OK;
    keeping->all =
        (struct torch_window){.begin_ns = info->start_ns,
                              .end_ns = info->end_ns < INT64_MAX ? info->end_ns + 1 : INT64_MAX};
    keeping->wish =
        (struct op_sums_wish){.shard = shard, .windows = &keeping->all, .window_count = 1};
    const int status = gait_ops_create(&keeping->ops);
    if (!status) // of which frames are read
        init(&keeping->summing, keeping->ops, (struct gait_trace *)(uintptr_t)trace,
             &keeping->wish);
    return status;
}

// Not before it is known that it is not on record: what is no span is read there.
static int reach_begin(struct op_keeping *keeping)
{
    if (keeping->is_begun)
        return GAIT_OK;
    keeping->is_begun = true;
    return begin_sums(&keeping->summing);
}

static int keep_slice(void *part, const struct fact_slice *slice)
{
    struct op_keeping *keeping = part;
    if (!keeping->is_wanted)
        return GAIT_OK;
    const int status = reach_begin(keeping);
    return status ? status : add_slice(&keeping->summing, slice);
}

static int keep_end(void *part)
{
    struct op_keeping *keeping = part;
    if (!keeping->is_wanted)
        return GAIT_OK;
    const int status = reach_begin(keeping);
    return status ? status : end_sums(&keeping->summing);
}

static void keep_drop(void *part)
{
    struct op_keeping *keeping = part;
    if (keeping->summing.trace)
        finish(&keeping->summing);
    gait_ops_destroy(keeping->ops);
}

static bool keep_all(const void *answer)
{
    (void)answer;
    return true;
}

static int keep_save(const void *part, struct facts_file *file)
{
    const struct op_keeping *keeping = part;
    return keeping->is_wanted ? op_kept_save(keeping->ops, file) : GAIT_OK;
}

static int keep_load(void *part, struct facts_file *file)
{
    const struct op_keeping *keeping = part;
    return !keeping->is_wanted || op_kept_is_there(file);
}

const struct fact_consumer op_sums_consumer = {
    .name = "ops",
    .columns = FACT_LINKS | FACT_ARGS,
    .part_bytes = sizeof(struct op_keeping),
    .begin = keep_begin,
    .slice = keep_slice,
    .end = keep_end,
    .drop = keep_drop,
    .is_whole = keep_all,
    .save = keep_save,
    .load = keep_load,
};
