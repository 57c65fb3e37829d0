// SPDX-License-Identifier: Apache-2.0
#include "analyse/compat/hta_graph.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/fail.h"

enum { MOST_EDGES = 1 << 27 };

int hta_graph_init(struct hta_graph *graph, size_t node_count)
{
    *graph = (struct hta_graph){.node_count = node_count,
                                .first_in = calloc(node_count + 1, sizeof *graph->first_in)};
    return graph->first_in ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for %zu nodes", node_count);
}

void hta_graph_finish(struct hta_graph *graph)
{
    free(graph->edges);
    free(graph->next_in);
    free(graph->first_in);
    free(graph->path);
    *graph = (struct hta_graph){.count = 0};
}

int hta_graph_add(struct hta_graph *graph, const struct hta_edge *edge)
{
    const struct array_shape shape = {sizeof *graph->edges, MOST_EDGES};
    size_t *place = &graph->first_in[edge->to];
    while (*place && graph->edges[*place - 1].from != edge->from)
        place = &graph->next_in[*place - 1];
    if (*place) {
        graph->edges[*place - 1] = *edge;
        return GAIT_OK;
    }
    const size_t at = graph->count;
    const bool is_first = place == &graph->first_in[edge->to];
    const size_t before = is_first ? 0 : (size_t)(place - graph->next_in);
    int status = array_reserve((void **)&graph->edges, &graph->capacity, at + 1, shape);
    if (!status)
        status = array_reserve((void **)&graph->next_in, &graph->in_capacity, at + 1,
                               (struct array_shape){sizeof *graph->next_in, MOST_EDGES});
    if (status)
        return status;
    *(is_first ? &graph->first_in[edge->to] : &graph->next_in[before]) = at + 1;
    graph->edges[at] = *edge;
    graph->next_in[at] = 0;
    graph->count++;
    return GAIT_OK;
}

// --- order -----------------------------------------------------------------------------

struct order {
    int64_t *nodes;    // each behind its predecessors
    size_t *waiting;   // of a node: edges into it that were not followed yet
    size_t *first_out; // of a node: its edges in `out`, and behind the last
    size_t *out;
    bool *is_met;
    size_t count;
};

static int order_init(struct order *order, const struct hta_graph *graph)
{
    const size_t nodes = graph->node_count;
    *order = (struct order){.nodes = malloc((nodes + 1) * sizeof *order->nodes),
                            .waiting = calloc(nodes + 1, sizeof *order->waiting),
                            .first_out = calloc(nodes + 2, sizeof *order->first_out),
                            .out = malloc((graph->count + 1) * sizeof *order->out),
                            .is_met = calloc(nodes + 1, sizeof *order->is_met)};
    if (!order->nodes || !order->waiting || !order->first_out || !order->out || !order->is_met)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu nodes", nodes);
    for (size_t i = 0; i < graph->count; i++) {
        order->waiting[graph->edges[i].to]++;
        order->first_out[graph->edges[i].from + 1]++;
    }
    for (size_t i = 1; i <= nodes; i++)
        order->first_out[i] += order->first_out[i - 1];
    size_t *filled = calloc(nodes + 1, sizeof *filled);
    for (size_t i = 0; filled && i < graph->count; i++) {
        const int64_t from = graph->edges[i].from;
        order->out[order->first_out[from] + filled[from]++] = i;
    }
    const bool is_done = filled != NULL;
    free(filled);
    return is_done ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for %zu nodes", nodes);
}

static void order_finish(struct order *order)
{
    free(order->nodes);
    free(order->waiting);
    free(order->first_out);
    free(order->out);
    free(order->is_met);
}

static void take_beginning(struct order *order, size_t *met, int64_t node)
{
    if (order->is_met[node])
        return;
    order->is_met[node] = true;
    ++*met;
    if (!order->waiting[node])
        order->nodes[order->count++] = node;
}

// Generation by generation, nodes in the order in which edges named them.
static int find_order(struct hta_graph *graph, struct order *order)
{
    for (size_t i = 0; i < graph->count; i++) {
        take_beginning(order, &graph->met_count, graph->edges[i].from);
        take_beginning(order, &graph->met_count, graph->edges[i].to);
    }
    for (size_t i = 0; i < order->count; i++) {
        const int64_t node = order->nodes[i];
        for (size_t at = order->first_out[node]; at < order->first_out[node + 1]; at++) {
            const int64_t to = graph->edges[order->out[at]].to;
            if (--order->waiting[to] == 0)
                order->nodes[order->count++] = to;
        }
    }
    return order->count == graph->met_count
               ? GAIT_OK
               : fail(GAIT_ERR_FORMAT, "what waits for what goes round in a circle");
}

// --- the heaviest way ------------------------------------------------------------------

static int64_t weight_of(const struct hta_edge *edge)
{
    return edge->us > 0 ? edge->us : 0;
}

// The edge + 1 by which a node is reached on its heaviest way, 0: it begins there.
static size_t heaviest(const struct hta_graph *graph, int64_t node, const int64_t *far_us)
{
    size_t best = 0;
    int64_t best_us = -1;
    for (size_t at = graph->first_in[node]; at; at = graph->next_in[at - 1]) {
        const struct hta_edge *edge = &graph->edges[at - 1];
        if (far_us[edge->from] + weight_of(edge) > best_us) {
            best_us = far_us[edge->from] + weight_of(edge);
            best = at;
        }
    }
    return best;
}

static int keep_path(struct hta_graph *graph, int64_t end, const size_t *by)
{
    size_t length = 0;
    for (int64_t node = end; by[node]; node = graph->edges[by[node] - 1].from)
        length++;
    graph->path = malloc((length + 1) * sizeof *graph->path);
    if (!graph->path)
        return fail(GAIT_ERR_MEMORY, "no memory for a path of %zu edges", length);
    graph->path_count = length;
    for (int64_t node = end; by[node]; node = graph->edges[by[node] - 1].from)
        graph->path[--length] = by[node] - 1;
    return GAIT_OK;
}

static int find_path(struct hta_graph *graph, const struct order *order)
{
    int64_t *far_us = calloc(graph->node_count + 1, sizeof *far_us), end = -1;
    size_t *by = calloc(graph->node_count + 1, sizeof *by);
    int status = far_us && by ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for a path");
    for (size_t i = 0; i < order->count && !status; i++) {
        const int64_t node = order->nodes[i];
        by[node] = heaviest(graph, node, far_us);
        if (by[node]) {
            const struct hta_edge *edge = &graph->edges[by[node] - 1];
            far_us[node] = far_us[edge->from] + weight_of(edge);
        }
        if (end < 0 || far_us[node] > far_us[end])
            end = node;
    }
    if (!status && end >= 0)
        status = keep_path(graph, end, by);
    free(far_us);
    free(by);
    return status;
}

int hta_graph_solve(struct hta_graph *graph)
{
    struct order order;
    int status = order_init(&order, graph);
    if (!status)
        status = find_order(graph, &order);
    if (!status)
        status = find_path(graph, &order);
    order_finish(&order);
    return status;
}
