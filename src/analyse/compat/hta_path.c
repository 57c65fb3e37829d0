// SPDX-License-Identifier: Apache-2.0
// Nodes are the starts and the ends of rows: 2 * row, and 2 * row + 1.
#include "analyse/compat/hta_path.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/compat/hta_graph.h"
#include "analyse/compat/keyed_rows.h"
#include "analyse/time/lower_bound.h"
#include "base/fail.h"

static bool is(const struct hta_row *row, const char *name)
{
    return strcmp(row->row->name, name) == 0;
}

static bool is_sync(const struct hta_row *row)
{
    return strcmp(row->row->category, "cuda_sync") == 0;
}

bool hta_path_has_syncs(const struct hta_rank *rank)
{
    for (size_t i = 0; i < rank->count; i++)
        if (is_sync(&rank->rows[i]))
            return true;
    return false;
}

static bool is_launch(const struct hta_row *row)
{
    return is(row, "cudaLaunchKernel") || is(row, "cudaLaunchKernelExC") ||
           is(row, "cuLaunchKernel") || is(row, "cudaMemcpyAsync") || is(row, "cudaMemsetAsync");
}

// Calls whose own time is left out, since what they wait for has it.
static bool blocks(const struct hta_row *row)
{
    return is(row, "cudaDeviceSynchronize") || is(row, "cudaStreamSynchronize") ||
           is(row, "cudaEventQuery") || is(row, "cudaEventSynchronize") || is(row, "cudaMemcpy");
}

static bool is_host(const struct hta_row *row)
{
    return row->row->stream == FOREIGN_NONE;
}

static bool is_work(const struct hta_row *row)
{
    const char *category = row->row->category;
    return !strcmp(category, "cpu_op") || !strcmp(category, "cuda_runtime") ||
           !strcmp(category, "cuda_driver");
}

// --- rows ------------------------------------------------------------------------------

enum { NONE = -1 };

struct fact {
    int64_t partner; // the call of device work, the device work of a call; NONE
    int64_t queued;  // launches of the stream that did not begin yet; NONE: it is none
    bool is_within, is_node;
};

struct making {
    const struct hta_rank *rank;
    struct fact *facts;
    struct hta_graph graph;
    int64_t *launches; // in order of time
    size_t launch_count;
    int64_t *streams; // that were met, each with its last node
    int64_t *last_nodes;
    size_t stream_count;
    int64_t *waits; // of a row: the node of another stream that it waits for
};

static const struct hta_row *row_of(const struct making *making, int64_t row)
{
    return &making->rank->rows[row];
}

// Calls and device work of one correlation are partners; of several the last is.
static void pair(struct making *making, const struct keyed *keys, size_t count)
{
    int64_t call = NONE, work = NONE;
    for (size_t i = 0; i < count; i++)
        *(hta_row_is_of_device(row_of(making, (int64_t)keys[i].at)->row) ? &work : &call) =
            (int64_t)keys[i].at;
    for (size_t i = 0; i < count; i++)
        making->facts[keys[i].at].partner =
            hta_row_is_of_device(row_of(making, (int64_t)keys[i].at)->row) ? call : work;
}

static int find_partners(struct making *making)
{
    struct keyed_rows keys; // by correlation
    int status = keyed_rows_init(&keys, making->rank->count);
    for (size_t i = 0; i < making->rank->count && !status; i++)
        if (making->rank->rows[i].row->correlation >= 0)
            keyed_rows_add(&keys, making->rank->rows[i].row->correlation, i);
    keyed_rows_sort(&keys);
    for (size_t i = 0, behind; i < keys.count; i = behind) {
        behind = keyed_rows_behind(&keys, keys.rows[i].key);
        pair(making, &keys.rows[i], behind - i);
    }
    keyed_rows_finish(&keys);
    return status;
}

static bool begins_within(const struct hta_row *row, int64_t since_us, int64_t until_us)
{
    return row->start_us >= since_us && row->start_us <= until_us && row->end_us > row->start_us;
}

// Of the device what was launched within, and all waits for events.
static void clip(struct making *making, int64_t since_us, int64_t until_us)
{
    for (size_t i = 0; i < making->rank->count; i++) {
        const struct hta_row *row = &making->rank->rows[i];
        struct fact *fact = &making->facts[i];
        const struct hta_row *call = is_host(row)            ? row
                                     : fact->partner == NONE ? NULL
                                                             : row_of(making, fact->partner);
        fact->is_within = (call && is_host(call) && begins_within(call, since_us, until_us)) ||
                          is(row, "Stream Wait Event");
        fact->is_node =
            fact->is_within && (is_work(row) || (!is_host(row) && fact->partner != NONE));
    }
}

static int64_t *last_of(const struct making *making, int64_t stream)
{
    for (size_t i = 0; i < making->stream_count; i++)
        if (making->streams[i] == stream)
            return &making->last_nodes[i];
    return NULL;
}

// How many launches of a stream are still to begin, at each launch and each beginning.
static int count_queues(struct making *making)
{
    struct keyed_rows moments; // by time
    int status = keyed_rows_init(&moments, 2 * making->launch_count);
    for (size_t i = 0; i < making->launch_count && !status; i++) {
        const int64_t call = making->launches[i], work = making->facts[call].partner;
        keyed_rows_add(&moments, row_of(making, call)->start_us, (size_t)call);
        keyed_rows_add(&moments, row_of(making, work)->start_us, (size_t)work);
    }
    keyed_rows_sort(&moments);
    memset(making->last_nodes, 0, (making->stream_count + 1) * sizeof *making->last_nodes);
    for (size_t i = 0; i < moments.count; i++) {
        struct fact *fact = &making->facts[moments.rows[i].at];
        const struct hta_row *row = row_of(making, (int64_t)moments.rows[i].at);
        const bool is_call = is_host(row);
        const struct hta_row *work = is_call ? row_of(making, fact->partner) : row;
        int64_t *queued = last_of(making, work->row->stream);
        if (queued)
            fact->queued = *queued += is_call ? 1 : -1;
    }
    keyed_rows_finish(&moments);
    return status;
}

static int find_launches(struct making *making)
{
    const size_t count = making->rank->count;
    making->launches = calloc(count + 1, sizeof *making->launches);
    making->streams = calloc(count + 1, sizeof *making->streams);
    making->last_nodes = calloc(count + 1, sizeof *making->last_nodes);
    if (!making->launches || !making->streams || !making->last_nodes)
        return fail(GAIT_ERR_MEMORY, "no memory for the launches");
    for (size_t i = 0; i < count; i++) {
        const struct hta_row *row = &making->rank->rows[i];
        if (is_host(row)) {
            if (is_launch(row) && making->facts[i].partner != NONE &&
                !is_host(row_of(making, making->facts[i].partner)))
                making->launches[making->launch_count++] = (int64_t)i;
            continue;
        }
        if (!last_of(making, row->row->stream))
            making->streams[making->stream_count++] = row->row->stream;
    }
    int status = count_queues(making);
    for (size_t i = 0; i < making->stream_count; i++)
        making->last_nodes[i] = NONE;
    return status;
}

// --- the host --------------------------------------------------------------------------

static int add(struct making *making, int64_t from, int64_t to, enum hta_edge_type type,
               int64_t owner)
{
    const struct hta_row *a = row_of(making, from / 2), *b = row_of(making, to / 2);
    const bool is_free = type == HTA_EDGE_DEPENDENCY || type == HTA_EDGE_SYNC ||
                         (type == HTA_EDGE_OPERATOR && to % 2 && is_host(b) && blocks(b));
    const int64_t us = (to % 2 ? b->end_us : b->start_us) - (from % 2 ? a->end_us : a->start_us);
    return hta_graph_add(&making->graph,
                         &(struct hta_edge){from, to, is_free ? 0 : us, owner, (uint8_t)type});
}

struct event {
    int64_t at_us, length_us, row;
    bool is_end;
};

static int sign(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

// As its stack of calls wants them: the outer first, the inner ends first.
static int by_nesting(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    if (a->row == b->row)
        return a->is_end - b->is_end;
    if (a->at_us != b->at_us)
        return sign(a->at_us, b->at_us);
    if (a->is_end == b->is_end) {
        const int order =
            a->length_us == b->length_us ? sign(a->row, b->row) : sign(b->length_us, a->length_us);
        return a->is_end ? -order : order;
    }
    if (a->length_us > 0 && b->length_us > 0)
        return a->is_end ? -1 : 1;
    if (a->length_us == 0 && b->length_us == 0)
        return sign(a->row, b->row);
    return a->is_end ? 1 : -1;
}

struct stack {
    int64_t *rows;
    size_t depth, nodes;            // nodes: those of the open rows that are any
    int64_t last, last_top, parent; // nodes, and the row around the last one
};

static int enter(struct making *making, struct stack *stack, int64_t row)
{
    const int64_t node = 2 * row;
    int status = GAIT_OK;
    if (making->facts[row].is_node) {
        if (!stack->nodes && stack->last_top != NONE)
            status = add(making, stack->last_top, node, HTA_EDGE_DEPENDENCY, NONE);
        if (!status && stack->last != NONE)
            status = add(making, stack->last, node, HTA_EDGE_OPERATOR,
                         stack->last % 2 ? stack->parent : stack->last / 2);
        stack->nodes++;
        stack->last = node;
        stack->parent = stack->depth ? stack->rows[stack->depth - 1] : NONE;
    }
    stack->rows[stack->depth++] = row;
    return status;
}

static int leave(struct making *making, struct stack *stack)
{
    const int64_t row = stack->rows[--stack->depth], node = 2 * row + 1;
    int status = GAIT_OK;
    if (!making->facts[row].is_node)
        return GAIT_OK;
    stack->nodes--;
    if (stack->last != NONE)
        status = add(making, stack->last, node, HTA_EDGE_OPERATOR,
                     stack->last % 2 ? row : stack->last / 2);
    stack->last = stack->nodes ? node : NONE;
    stack->last_top = stack->nodes ? stack->last_top : node;
    stack->parent = stack->depth ? stack->rows[stack->depth - 1] : NONE;
    return status;
}

static int add_thread(struct making *making, uint32_t track, struct event *events, int64_t *rows)
{
    struct stack stack = {rows, 0, 0, NONE, NONE, NONE};
    size_t count = 0;
    int status = GAIT_OK;
    for (size_t i = 0; i < making->rank->count; i++) {
        const struct hta_row *row = &making->rank->rows[i];
        if (!making->facts[i].is_within || !is_host(row) || row->row->track != track)
            continue;
        const int64_t us = row->end_us > row->start_us ? row->end_us - row->start_us : 0;
        events[count++] = (struct event){row->start_us, us, (int64_t)i, false};
        events[count++] = (struct event){row->start_us + us, us, (int64_t)i, true};
    }
    if (count)
        qsort(events, count, sizeof *events, by_nesting);
    for (size_t i = 0; i < count && !status; i++)
        if (!events[i].is_end)
            status = enter(making, &stack, events[i].row);
        else if (stack.depth)
            status = leave(making, &stack);
    return status;
}

static int add_threads(struct making *making)
{
    const size_t count = making->rank->count;
    struct event *events = malloc((2 * count + 1) * sizeof *events);
    int64_t *rows = malloc((count + 1) * sizeof *rows);
    bool *is_done = NULL;
    uint32_t last = 0;
    int status = GAIT_OK;
    for (size_t i = 0; i < count; i++)
        if (making->rank->rows[i].row->track > last)
            last = making->rank->rows[i].row->track;
    is_done = calloc((size_t)last + 1, sizeof *is_done);
    if (!events || !rows || !is_done)
        status = fail(GAIT_ERR_MEMORY, "no memory for %zu rows", count);
    for (size_t i = 0; i < count && !status; i++) {
        const struct hta_row *row = &making->rank->rows[i];
        if (!making->facts[i].is_within || !is_host(row) || is_done[row->row->track])
            continue;
        is_done[row->row->track] = true;
        status = add_thread(making, row->row->track, events, rows);
    }
    free(events);
    free(rows);
    free(is_done);
    return status;
}

// --- the device ------------------------------------------------------------------------

static const struct hta_row *work_of(const struct making *making, size_t launch)
{
    return row_of(making, making->facts[making->launches[launch]].partner);
}

// The first launch behind that row.
static size_t launch_behind(const struct making *making, int64_t row)
{
    return lower_bound(making->launches, making->launch_count, sizeof row, row + 1);
}

// The work launched last on the stream before the event was recorded; NONE.
static int64_t recorded_work(const struct making *making, const struct hta_row *wait, int64_t call)
{
    int64_t record = call;
    while (record >= 0 && !(is(row_of(making, record), "cudaEventRecord") &&
                            row_of(making, record)->row->correlation == wait->row->record))
        record--;
    for (size_t i = record < 0 ? 0 : launch_behind(making, record); i-- > 0;)
        if (work_of(making, i)->row->stream == wait->row->awaited &&
            work_of(making, i)->row->device == wait->row->device)
            return making->facts[making->launches[i]].partner;
    return NONE;
}

// The work launched next on the stream by the thread that asked it to wait; NONE.
static int64_t waiting_work(const struct making *making, const struct hta_row *wait, int64_t call)
{
    for (size_t i = launch_behind(making, call); i < making->launch_count; i++)
        if (row_of(making, making->launches[i])->row->track == row_of(making, call)->row->track &&
            work_of(making, i)->row->stream == wait->row->stream)
            return making->facts[making->launches[i]].partner;
    return NONE;
}

static int add_sync(struct making *making, int64_t row)
{
    const struct hta_row *sync = row_of(making, row);
    const int64_t call = making->facts[row].partner;
    const int64_t *last = last_of(making, sync->row->stream);
    int status = GAIT_OK;
    if (is(sync, "Stream Wait Event") || is(sync, "Event Sync")) {
        const int64_t awaited = recorded_work(making, sync, call);
        if (awaited == NONE)
            return GAIT_OK;
        if (is(sync, "Event Sync"))
            return !making->facts[awaited].is_node || !making->facts[call].is_node
                       ? GAIT_OK
                       : add(making, 2 * awaited + 1, 2 * call + 1, HTA_EDGE_SYNC, NONE);
        const int64_t waiting = waiting_work(making, sync, call);
        if (waiting != NONE)
            making->waits[waiting] = awaited;
        return GAIT_OK;
    }
    if (!making->facts[call].is_node)
        return GAIT_OK;
    if (!is(sync, "Context Sync"))
        return last && *last != NONE ? add(making, *last, 2 * call + 1, HTA_EDGE_SYNC, NONE)
                                     : GAIT_OK;
    for (size_t i = 0; i < making->stream_count && !status; i++)
        if (making->last_nodes[i] != NONE)
            status = add(making, making->last_nodes[i], 2 * call + 1, HTA_EDGE_SYNC, NONE);
    return status;
}

static int add_work(struct making *making, int64_t row)
{
    const struct hta_row *work = row_of(making, row);
    const int64_t call = making->facts[row].partner;
    int64_t *last = last_of(making, work->row->stream), awaited = making->waits[row];
    int status = add(making, 2 * row, 2 * row + 1, HTA_EDGE_OPERATOR, row);
    if (awaited != NONE && !making->facts[awaited].is_node)
        awaited = NONE;
    if (!status && awaited != NONE)
        status = add(making, 2 * awaited + 1, 2 * row, HTA_EDGE_SYNC, NONE);
    if (status || !last)
        return status;
    const int64_t called_us = row_of(making, call)->start_us;
    const int64_t awaited_us = awaited == NONE ? INT64_MIN : row_of(making, awaited)->end_us;
    const int64_t last_us = *last == NONE ? INT64_MIN : row_of(making, *last / 2)->end_us;
    if (making->facts[call].queued == 1 && making->facts[row].queued == 0 && last_us < called_us &&
        awaited_us < called_us)
        status = making->facts[call].is_node ? add(making, 2 * call, 2 * row, HTA_EDGE_LAUNCH, NONE)
                                             : GAIT_OK;
    else if (*last != NONE && awaited_us < last_us)
        status = add(making, *last, 2 * row, HTA_EDGE_KERNEL, *last / 2);
    *last = 2 * row + 1;
    return status;
}

// By their starts, waits by their ends.
static int add_device(struct making *making)
{
    struct keyed_rows keys;
    int status = keyed_rows_init(&keys, making->rank->count);
    for (size_t i = 0; i < making->rank->count && !status; i++) {
        const struct hta_row *row = &making->rank->rows[i];
        if (making->facts[i].is_within && making->facts[i].partner != NONE &&
            hta_row_is_of_device(row->row))
            keyed_rows_add(&keys, is_sync(row) ? row->end_us : row->start_us, i);
    }
    keyed_rows_sort(&keys);
    for (size_t i = 0; i < keys.count && !status; i++) {
        const int64_t row = (int64_t)keys.rows[i].at;
        status = is_sync(row_of(making, row)) ? add_sync(making, row) : add_work(making, row);
    }
    keyed_rows_finish(&keys);
    return status;
}

// --- all of it -------------------------------------------------------------------------

static enum hta_bound bound_of(const struct making *making, const struct hta_edge *edge)
{
    if (edge->type == HTA_EDGE_KERNEL)
        return HTA_BOUND_KERNEL;
    if (edge->type == HTA_EDGE_LAUNCH)
        return HTA_BOUND_LAUNCH;
    if (edge->type != HTA_EDGE_OPERATOR)
        return HTA_BOUND_NOTHING;
    const struct hta_row *owner = row_of(making, edge->owner == NONE ? edge->to / 2 : edge->owner);
    return is_host(owner)                                   ? HTA_BOUND_CPU
           : owner->row->kind.hta_kind == HTA_COMMUNICATION ? HTA_BOUND_COMM
                                                            : HTA_BOUND_COMPUTE;
}

static void count(struct hta_tally *tally, int64_t us)
{
    tally->count++;
    tally->us += us;
}

static int tell(struct making *making, struct hta_path *path)
{
    const struct hta_graph *graph = &making->graph;
    bool *is_met = calloc(making->rank->count + 1, sizeof *is_met);
    int status = is_met ? hta_graph_solve(&making->graph) : fail(GAIT_ERR_MEMORY, "no memory");
    for (size_t i = 0; i < graph->count && !status; i++)
        count(&path->of_graph[graph->edges[i].type], graph->edges[i].us);
    path->nodes = graph->met_count;
    path->edges = graph->count;
    path->path_nodes = graph->path_count ? graph->path_count + 1 : 0;
    path->path_edges = graph->path_count;
    for (size_t i = 0; i < graph->path_count && !status; i++) {
        const struct hta_edge *edge = &graph->edges[graph->path[i]];
        count(&path->of_path[edge->type], edge->us);
        count(&path->bounds[bound_of(making, edge)], edge->us);
        path->weight_us += edge->us;
        is_met[edge->from / 2] = is_met[edge->to / 2] = true;
    }
    for (size_t i = 0; i < making->rank->count && !status; i++)
        path->path_events += is_met[i];
    free(is_met);
    return status;
}

static int prepare(struct making *making)
{
    const size_t count = making->rank->count;
    making->facts = malloc((count + 1) * sizeof *making->facts);
    making->waits = malloc((count + 1) * sizeof *making->waits);
    if (!making->facts || !making->waits)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu rows", count);
    for (size_t i = 0; i < count; i++) {
        making->facts[i] = (struct fact){NONE, NONE, false, false};
        making->waits[i] = NONE;
    }
    int status = hta_graph_init(&making->graph, 2 * count);
    return status ? status : find_partners(making);
}

int hta_path_make(struct hta_path *path, const struct hta_rank *rank, int64_t since_us,
                  int64_t until_us)
{
    struct making making = {.rank = rank};
    *path = (struct hta_path){.nodes = 0};
    int status = prepare(&making);
    if (!status)
        clip(&making, since_us, until_us);
    if (!status)
        status = find_launches(&making);
    if (!status)
        status = add_threads(&making);
    if (!status)
        status = add_device(&making);
    if (!status)
        status = tell(&making, path);
    hta_graph_finish(&making.graph);
    free(making.facts);
    free(making.waits);
    free(making.launches);
    free(making.streams);
    free(making.last_nodes);
    return status;
}
