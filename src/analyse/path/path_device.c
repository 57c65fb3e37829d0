// SPDX-License-Identifier: Apache-2.0
#include "analyse/path/path_device.h"

#include <stdlib.h>

#include "analyse/path/dag.h"
#include "base/array.h"
#include "base/fail.h"

// Work that begins so soon behind work of another stream may have waited for it.
enum { SOON_NS = 10000 };

static struct path_node describe(const struct path_process *process, const struct path_span *work)
{
    static const uint8_t kinds[] = {
        [LANE_COMPUTE] = PATH_KERNEL, [LANE_COMM] = PATH_COLLECTIVE, [LANE_COPY] = PATH_COPY};
    const struct path_site *site = &process->rows->sites->rows[work->site];
    return (struct path_node){.name = site->name,
                              .shard = process->shard,
                              .kind = kinds[site->lane],
                              .mask = (path_mask)(site->name_mask | site->role_mask)};
}

struct ending {
    int64_t end_ns;
    uint32_t row;
};

ARRAY_BY2(by_end, struct ending, end_ns, row)

static int order_ends(struct path_devices *devices)
{
    const size_t count = devices->rows->count;
    struct ending *endings = malloc((count + 1) * sizeof *endings);
    devices->by_end = malloc((count + 1) * sizeof *devices->by_end);
    if (!endings || !devices->by_end) {
        free(endings);
        return fail(GAIT_ERR_MEMORY, "no memory for the work of a device");
    }
    for (size_t i = 0; i < count; i++)
        endings[i] = (struct ending){devices->rows->rows[i].end_ns, (uint32_t)i};
    ARRAY_SORT(endings, count, by_end);
    for (size_t i = 0; i < count; i++)
        devices->by_end[i] = endings[i].row;
    free(endings);
    return GAIT_OK;
}

int path_device_add(struct path_process *process)
{
    struct path_devices *devices = &process->devices;
    int status = order_ends(devices);
    devices->first_node = (uint32_t)process->graph->dag.count;
    for (size_t i = 0; i < devices->rows->count && !status; i++) {
        const struct path_span *work = &devices->rows->rows[i];
        const struct path_node node = describe(process, work);
        uint32_t number;
        process->has_kernels |= node.kind == PATH_COLLECTIVE;
        status = path_graph_add(process->graph, &node,
                                (struct dag_node){work->start_ns, work->end_ns - work->start_ns},
                                &number);
    }
    return status;
}

void path_device_finish(struct path_process *process)
{
    free(process->devices.by_end);
    process->devices.by_end = NULL;
}

// --- edges -----------------------------------------------------------------------------

// The work is on its way from the moment at which the host begins to launch it. What stands
// around the call has a part in it.
static int link_launch(const struct path_process *process, uint32_t node,
                       const struct path_span *call)
{
    struct path_graph *graph = process->graph;
    const size_t at = path_graph_find(graph, call->track, call->start_ns);
    const size_t behind = at == SIZE_MAX ? SIZE_MAX : at + 1;
    if (at == SIZE_MAX) { // of a thread that is not followed, the one that is began it
        const size_t near = path_graph_find(graph, process->track, call->start_ns);
        return near == SIZE_MAX
                   ? GAIT_OK
                   : dag_add_edge(&graph->dag, graph->places[near].node, node, PATH_UNKNOWN);
    }
    if (behind < graph->place_count && graph->places[behind].track == call->track) {
        const struct path_node *around = &graph->nodes[graph->places[behind].node];
        graph->nodes[node].mask = (path_mask)(graph->nodes[node].mask | around->covers);
    }
    return dag_add_edge(&graph->dag, graph->places[at].node, node, PATH_LAUNCH);
}

// Tracks of streams, each with the row before.
struct streams {
    uint32_t *last; // of a track: the row, + 1
    uint32_t count;
};

// What of other streams ended just before the work began, behind its own launch and behind
// the work before it on its stream.
static int link_others(const struct path_process *process, size_t row, int64_t since_ns,
                       size_t *ended)
{
    const struct path_devices *devices = &process->devices;
    const struct path_span *rows = devices->rows->rows, *work = &rows[row];
    while (*ended < devices->rows->count && rows[devices->by_end[*ended]].end_ns <= work->start_ns)
        ++*ended;
    for (size_t at = *ended; at-- > 0;) {
        const uint32_t other = devices->by_end[at];
        if (rows[other].end_ns <= since_ns || rows[other].end_ns < work->start_ns - SOON_NS)
            break;
        if (rows[other].track != work->track && rows[other].end_ns > rows[other].start_ns)
            return dag_add_edge(&process->graph->dag, devices->first_node + other,
                                devices->first_node + (uint32_t)row, PATH_DEPENDENCY);
    }
    return GAIT_OK;
}

static int link_row(const struct path_process *process, struct streams *streams, size_t row,
                    size_t *ended)
{
    const struct path_devices *devices = &process->devices;
    const struct path_span *work = &devices->rows->rows[row];
    const struct path_span *call = path_rows_launch(process->rows, work->link);
    const uint32_t node = devices->first_node + (uint32_t)row, before = streams->last[work->track];
    int64_t since_ns = call ? call->end_ns : INT64_MIN;
    int status = call ? link_launch(process, node, call) : GAIT_OK;
    if (before && !status) {
        const int64_t end_ns = devices->rows->rows[before - 1].end_ns;
        since_ns = end_ns > since_ns ? end_ns : since_ns;
        status =
            dag_add_edge(&process->graph->dag, devices->first_node + before - 1, node, PATH_STREAM);
    }
    streams->last[work->track] = (uint32_t)row + 1;
    return status ? status : link_others(process, row, since_ns, ended);
}

int path_device_link(const struct path_process *process)
{
    struct streams streams = {.count = gait_trace_track_count(process->graph->trace)};
    size_t ended = 0;
    int status = GAIT_OK;
    if (!process->devices.rows->count)
        return GAIT_OK;
    streams.last = calloc((size_t)streams.count + 1, sizeof *streams.last);
    if (!streams.last)
        return fail(GAIT_ERR_MEMORY, "no memory for %u streams", streams.count);
    for (size_t i = 0; i < process->devices.rows->count && !status; i++)
        status = link_row(process, &streams, i, &ended);
    free(streams.last);
    return status;
}
