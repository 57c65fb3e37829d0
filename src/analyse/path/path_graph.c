// SPDX-License-Identifier: Apache-2.0
#include "analyse/path/path_graph.h"

#include <stdlib.h>

#include "analyse/path/path_device.h"
#include "analyse/path/path_host.h"
#include "analyse/path/path_peers.h"
#include "base/array.h"
#include "facts/facts.h"

enum { MOST_NODES = 1 << 28 };

// --- nodes and places ------------------------------------------------------------------

int path_graph_add(struct path_graph *graph, const struct path_node *node, struct dag_node times,
                   uint32_t *ret_node)
{
    int status = ARRAY_RESERVE(graph->nodes, graph->capacity, graph->dag.count + 1, MOST_NODES);
    if (!status)
        status = dag_add_node(&graph->dag, times, ret_node);
    if (!status)
        graph->nodes[*ret_node] = *node;
    return status;
}

int path_graph_place(struct path_graph *graph, uint32_t track, uint32_t node)
{
    const struct dag_node *times = &graph->dag.nodes[node];
    return ARRAY_ADD(graph->places, graph->place_count, graph->place_capacity, MOST_NODES,
                     &(struct path_place){times->start_ns + times->work_ns, track, node});
}

int path_graph_collective(struct path_graph *graph, const struct path_collective *row)
{
    return ARRAY_ADD(graph->collectives, graph->collective_count, graph->collective_capacity,
                     MOST_NODES, row);
}

ARRAY_BY3(by_track_end, struct path_place, track, end_ns, node)

// Those of one process: tracks of another stand behind them.
static void sort_places(struct path_graph *graph, size_t first)
{
    size_t i = first + 1;
    while (i < graph->place_count && by_track_end(&graph->places[i - 1], &graph->places[i]) <= 0)
        i++;
    if (i < graph->place_count)
        qsort(&graph->places[first], graph->place_count - first, sizeof *graph->places,
              by_track_end);
}

size_t path_graph_find(const struct path_graph *graph, uint32_t track, int64_t at_ns)
{
    const struct path_place key = {at_ns, track, UINT32_MAX};
    size_t low = 0, high = graph->place_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (by_track_end(&graph->places[middle], &key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low && graph->places[low - 1].track == track ? low - 1 : SIZE_MAX;
}

// --- reading ---------------------------------------------------------------------------

struct part {
    struct path_graph *graph;
    struct path_rows rows;
    uint32_t shard;
};

static int begin(void *made, const struct gait_trace *trace, uint32_t shard, void *answer)
{
    (void)trace;
    struct part *part = made;
    part->graph = answer;
    part->shard = shard;
    part->rows.sites = &part->graph->sites;
    return GAIT_OK;
}

static int add_slice(void *made, const struct fact_slice *slice)
{
    return path_rows_add(&((struct part *)made)->rows, slice);
}

static int end(void *made)
{
    struct part *part = made;
    path_rows_sort(&part->rows);
    return GAIT_OK;
}

// Of a process without steps, one window: the busiest thread as long as it did something.
static int stand_in(struct path_graph *graph, const struct part *part)
{
    const struct path_list *host = &part->rows.host;
    struct path_step step = {.name = "whole", .shard = part->shard};
    size_t most = 0;
    for (size_t i = 0, behind; i < host->count; i = behind) {
        const struct path_list track = path_rows_track(&part->rows, host->rows[i].track);
        behind = i + track.count;
        if (track.count <= most)
            continue;
        most = track.count;
        step.track = track.rows[0].track;
        step.start_ns = track.rows[0].start_ns;
        step.end_ns = INT64_MIN;
        for (size_t at = 0; at < track.count; at++)
            if (track.rows[at].end_ns > step.end_ns)
                step.end_ns = track.rows[at].end_ns;
    }
    if (!most || step.end_ns <= step.start_ns)
        return GAIT_OK;
    return ARRAY_ADD(graph->marks.steps, graph->marks.step_count, graph->marks.step_capacity,
                     MOST_NODES, &step);
}

// The thread with most steps.
static bool find_stepper(const struct path_graph *graph, uint32_t shard, uint32_t *ret_track)
{
    size_t most = 0, count;
    for (size_t i = 0; i < graph->marks.step_count; i += count) {
        const struct path_step *step = &graph->marks.steps[i];
        for (count = 1; i + count < graph->marks.step_count &&
                        graph->marks.steps[i + count].track == step->track;)
            count++;
        if (step->shard == shard && count > most) {
            most = count;
            *ret_track = step->track;
        }
    }
    return most > 0;
}

static int add_process(struct path_graph *graph, struct path_process *process)
{
    const size_t first_place = graph->place_count;
    process->steps = path_marks_steps(&graph->marks, process->track, &process->step_count);
    int status = path_device_add(process);
    if (!status)
        status = path_host_add(process);
    sort_places(graph, first_place);
    if (!status)
        status = path_device_link(process);
    path_device_finish(process);
    return status;
}

static int merge(void *answer, void *made)
{
    struct path_graph *graph = answer;
    struct part *part = made;
    struct path_process process = {.graph = graph,
                                   .rows = &part->rows,
                                   .devices = {.rows = &part->rows.device},
                                   .shard = part->shard};
    int status = graph->marks.is_whole ? stand_in(graph, part) : GAIT_OK;
    if (!status && find_stepper(graph, part->shard, &process.track))
        status = add_process(graph, &process);
    return status;
}

static void drop(void *made)
{
    struct part *part = made;
    path_rows_finish(&part->rows);
}

static const struct fact_consumer consumer = {
    .name = "paths",
    .columns = FACT_LINKS,
    .part_bytes = sizeof(struct part),
    .begin = begin,
    .slice = add_slice,
    .end = end,
    .merge = merge,
    .drop = drop,
};

// --- all of it -------------------------------------------------------------------------

// Leaves the steps that the graph has, each with its nodes.
static void find_steps(struct path_graph *graph)
{
    size_t kept = 0;
    for (size_t i = 0; i < graph->marks.step_count; i++) {
        struct path_step step = graph->marks.steps[i];
        const size_t first = path_graph_find(graph, step.track, step.start_ns),
                     last = path_graph_find(graph, step.track, step.end_ns);
        if (last == SIZE_MAX || graph->places[last].end_ns != step.end_ns)
            continue;
        step.first = first == SIZE_MAX ? DAG_NO_NODE : graph->places[first].node;
        step.last = graph->places[last].node;
        graph->marks.steps[kept++] = step;
    }
    graph->marks.step_count = kept;
}

int path_graph_make(struct path_graph *graph, struct gait_trace *trace, struct path_scales *scales)
{
    const struct fact_ask ask = {&consumer, graph};
    *graph = (struct path_graph){.trace = trace};
    int status = path_sites_make(&graph->sites, trace, scales);
    if (!status)
        status = path_marks_make(&graph->marks, trace, scales);
    graph->marks.is_whole = !status && !graph->marks.step_count;
    if (!status)
        status = facts_run(trace, &ask, 1);
    if (!status)
        status = path_peers_link(graph, trace);
    if (!status)
        status = dag_settle(&graph->dag);
    if (!status) {
        dag_measure_lags(&graph->dag);
        find_steps(graph);
    } else
        path_graph_finish(graph);
    return status;
}

void path_graph_finish(struct path_graph *graph)
{
    dag_finish(&graph->dag);
    path_marks_finish(&graph->marks);
    path_sites_finish(&graph->sites);
    free(graph->nodes);
    free(graph->places);
    free(graph->collectives);
    *graph = (struct path_graph){.trace = NULL};
}
