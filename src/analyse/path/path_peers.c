// SPDX-License-Identifier: Apache-2.0
// On a rank, a collective has arrived when its time begins there, and works from the last
// arrival on: that is how long it took. What came before, the rank waited.
#include "analyse/path/path_peers.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/device/collectives.h"
#include "base/array.h"
#include "base/fail.h"

// --- which are one ---------------------------------------------------------------------

static int by_group(const void *left, const void *right)
{
    const struct path_collective *a = left, *b = right;
    if (a->group != b->group)
        return (uintptr_t)a->group < (uintptr_t)b->group ? -1 : 1;
    RETURN_IF_APART(a->step, b->step);
    RETURN_IF_APART(a->number, b->number);
    return a->shard < b->shard ? -1 : a->shard > b->shard;
}

ARRAY_BY3(by_shard_step, struct path_collective, shard, step, number)

// Those of the host are numbered by their order in a step, which a rank may make again.
static void number_in_steps(struct path_graph *graph)
{
    uint64_t number = 0, last_step = UINT64_MAX;
    uint32_t last_shard = UINT32_MAX;
    ARRAY_SORT(graph->collectives, graph->collective_count, by_shard_step);
    for (size_t i = 0; i < graph->collective_count; i++) {
        struct path_collective *row = &graph->collectives[i];
        number = row->shard == last_shard && row->step == last_step ? number + 1 : 0;
        last_shard = row->shard;
        last_step = row->step;
        row->number = number;
    }
}

struct kernel {
    int64_t rank, start_ns;
    uint64_t ns;
    uint32_t node, shard;
};

ARRAY_BY3(by_rank_start, struct kernel, rank, start_ns, ns)

static int list_kernels(const struct path_graph *graph, struct kernel **ret_kernels,
                        size_t *ret_count)
{
    struct kernel *kernels = malloc((graph->dag.count + 1) * sizeof *kernels);
    size_t count = 0;
    if (!kernels)
        return fail(GAIT_ERR_MEMORY, "no memory for the collectives");
    for (size_t i = 0; i < graph->dag.count; i++) {
        const struct path_node *node = &graph->nodes[i];
        struct gait_shard_info info;
        if (node->kind != PATH_COLLECTIVE || gait_trace_shard(graph->trace, node->shard, &info))
            continue;
        kernels[count++] = (struct kernel){
            info.rank < 0 ? (int64_t)node->shard : info.rank, graph->dag.nodes[i].start_ns,
            (uint64_t)graph->dag.nodes[i].work_ns, (uint32_t)i, node->shard};
    }
    ARRAY_SORT(kernels, count, by_rank_start);
    *ret_kernels = kernels;
    *ret_count = count;
    return GAIT_OK;
}

// Those of devices, as `gait comms` counts them.
static int add_kernels(struct path_graph *graph, struct collectives *calls)
{
    struct kernel *kernels = NULL;
    size_t count = 0;
    int status = list_kernels(graph, &kernels, &count);
    for (size_t i = 0; i < calls->call_count && !status; i++) {
        const struct collective_call *call = &calls->calls[i];
        const struct kernel key = {.rank = call->rank, .start_ns = call->start_ns, .ns = call->ns};
        const struct kernel *found =
            count ? bsearch(&key, kernels, count, sizeof key, by_rank_start) : NULL;
        if (found)
            status = path_graph_collective(graph, &(struct path_collective){.group = call->kind,
                                                                            .number = call->number,
                                                                            .node = found->node,
                                                                            .shard = found->shard});
    }
    free(kernels);
    return status;
}

// --- edges -----------------------------------------------------------------------------

struct joining {
    struct path_graph *graph;
    uint32_t *arrivals; // of a node that was split, else DAG_NO_NODE
};

static int64_t end_of(const struct dag *dag, uint32_t node)
{
    return dag->nodes[node].start_ns + dag->nodes[node].work_ns;
}

// Where a rank comes, as a node of no length in front of its own.
static int add_arrival(struct joining *joining, uint32_t node)
{
    struct path_graph *graph = joining->graph;
    const struct path_node like = graph->nodes[node];
    const struct dag_node times = {graph->dag.nodes[node].start_ns, 0};
    return path_graph_add(graph, &like, times, &joining->arrivals[node]);
}

static int meet(struct joining *joining, uint32_t node, uint32_t meeting)
{
    struct dag *dag = &joining->graph->dag;
    const int64_t end_ns = end_of(dag, node), all_ns = dag->nodes[meeting].start_ns;
    dag->nodes[node] = (struct dag_node){all_ns, end_ns - all_ns};
    int status = dag_add_edge(dag, joining->arrivals[node], meeting, PATH_PEER);
    return status ? status : dag_add_edge(dag, meeting, node, PATH_PEER);
}

// A rank whose own wait begins when another has gone on already had come before: another
// thread of it did the rest. It came while it did what it did then, at the last moment that
// can be; that piece is cut there. DAG_NO_NODE: of no thread that is followed.
static int cut(struct joining *joining, uint32_t track, int64_t at_ns, uint32_t *ret_node)
{
    struct path_graph *graph = joining->graph;
    struct dag *dag = &graph->dag;
    const size_t before = path_graph_find(graph, track, at_ns), around = before + 1;
    *ret_node = before == SIZE_MAX ? DAG_NO_NODE : graph->places[before].node;
    if (before == SIZE_MAX || around >= graph->place_count || graph->places[around].track != track)
        return GAIT_OK;
    const uint32_t node = graph->places[around].node, first = joining->arrivals[node];
    const int64_t start_ns = dag->nodes[node].start_ns, end_ns = end_of(dag, node);
    const struct path_node like = graph->nodes[node];
    if (start_ns >= at_ns)
        return GAIT_OK;
    int status =
        path_graph_add(graph, &like, (struct dag_node){start_ns, at_ns - start_ns}, ret_node);
    if (status)
        return status;
    dag->nodes[node] = (struct dag_node){at_ns, end_ns - at_ns};
    if (first == DAG_NO_NODE)
        joining->arrivals[node] = *ret_node;
    status = dag_add_edge(dag, first, *ret_node, PATH_NEXT);
    return status ? status : dag_add_edge(dag, *ret_node, node, PATH_NEXT);
}

// When the first rank went on, and from when on all were there.
struct meeting {
    int64_t all_ns, first_end_ns;
    uint32_t node;
    bool is_known;
};

static struct meeting find_meeting(const struct path_graph *graph,
                                   const struct path_collective *rows, size_t count)
{
    struct meeting meeting = {INT64_MIN, INT64_MAX, DAG_NO_NODE, count > 1};
    for (size_t i = 0; i < count; i++)
        if (end_of(&graph->dag, rows[i].node) < meeting.first_end_ns)
            meeting.first_end_ns = end_of(&graph->dag, rows[i].node);
    for (size_t i = 0; i < count; i++) {
        int64_t at_ns = graph->dag.nodes[rows[i].node].start_ns;
        if (at_ns >= meeting.first_end_ns) {
            at_ns = meeting.first_end_ns - 1;
            meeting.is_known &= !rows[i].group; // a device does nothing else meanwhile
        }
        meeting.all_ns = at_ns > meeting.all_ns ? at_ns : meeting.all_ns;
    }
    return meeting;
}

// One collective. Kernels of which one ends before the last begins are none that wait for all
// (a broadcast's first), or their clocks differ.
static int join(struct joining *joining, const struct path_collective *rows, size_t count)
{
    struct path_graph *graph = joining->graph;
    const struct path_node node = graph->nodes[rows[0].node];
    struct meeting meeting = find_meeting(graph, rows, count);
    uint32_t came;
    int status = GAIT_OK;
    if (!meeting.is_known)
        return GAIT_OK;
    graph->matched++;
    for (size_t i = 0; i < count && !status; i++)
        if (graph->dag.nodes[rows[i].node].start_ns < meeting.first_end_ns)
            status = add_arrival(joining, rows[i].node);
    if (!status) // behind the arrivals, of which one is at the same moment
        status = path_graph_add(graph, &node, (struct dag_node){meeting.all_ns, 0}, &meeting.node);
    for (size_t i = 0; i < count && !status; i++) {
        if (graph->dag.nodes[rows[i].node].start_ns < meeting.first_end_ns) {
            status = meet(joining, rows[i].node, meeting.node);
            continue;
        }
        status = cut(joining, rows[i].track, meeting.first_end_ns - 1, &came);
        if (!status)
            status = dag_add_edge(&graph->dag, came, meeting.node, PATH_PEER);
    }
    return status;
}

// What a collective waited for, its arrival waited for.
static void move_edges(struct joining *joining, size_t edge_count, size_t node_count)
{
    struct dag *dag = &joining->graph->dag;
    for (size_t i = 0; i < edge_count; i++)
        if (dag->edges[i].to < node_count && joining->arrivals[dag->edges[i].to] != DAG_NO_NODE)
            dag->edges[i].to = joining->arrivals[dag->edges[i].to];
}

// Whether all ranks have as many of them in that step: else it is not known which is which.
static size_t end_of_step(const struct path_graph *graph, size_t from)
{
    size_t at = from;
    while (at < graph->collective_count &&
           graph->collectives[at].group == graph->collectives[from].group &&
           graph->collectives[at].step == graph->collectives[from].step)
        at++;
    return at;
}

static int join_step(struct joining *joining, size_t from, size_t behind)
{
    const struct path_collective *rows = joining->graph->collectives;
    const bool is_host = rows[from].group == NULL;
    size_t ranks = 0;
    int status = GAIT_OK;
    for (size_t i = from, end; i < behind && !status; i = end) {
        for (end = i; end < behind && rows[end].number == rows[i].number;)
            end++;
        if (!ranks)
            ranks = end - i;
        if (!is_host || end - i == ranks)
            status = join(joining, &rows[i], end - i);
    }
    return status;
}

int path_peers_link(struct path_graph *graph, struct gait_trace *trace)
{
    const size_t node_count = graph->dag.count, edge_count = graph->dag.edge_count;
    struct joining joining = {graph, malloc((node_count + 1) * sizeof *joining.arrivals)};
    struct collectives calls;
    if (!joining.arrivals)
        return fail(GAIT_ERR_MEMORY, "no memory for the collectives");
    memset(joining.arrivals, 0xff, (node_count + 1) * sizeof *joining.arrivals);
    number_in_steps(graph);
    int status = collectives_make(&calls, trace, NULL);
    if (!status)
        status = add_kernels(graph, &calls);
    ARRAY_SORT(graph->collectives, graph->collective_count, by_group);
    for (size_t i = 0, behind; i < graph->collective_count && !status; i = behind) {
        behind = end_of_step(graph, i);
        status = join_step(&joining, i, behind);
    }
    collectives_finish(&calls);
    move_edges(&joining, edge_count, node_count);
    free(joining.arrivals);
    return status;
}
