// SPDX-License-Identifier: Apache-2.0
#include "analyse/path/dag.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"

enum { MOST_NODES = 1 << 28 };

void dag_finish(struct dag *dag)
{
    if (!dag)
        return;
    free(dag->nodes);
    free(dag->edges);
    free(dag->first_edge);
    free(dag->order);
    *dag = (struct dag){.count = 0};
}

int dag_add_node(struct dag *dag, struct dag_node node, uint32_t *ret_node)
{
    int status = ARRAY_RESERVE(dag->nodes, dag->capacity, dag->count + 1, MOST_NODES);
    if (status)
        return status;
    *ret_node = (uint32_t)dag->count;
    dag->nodes[dag->count++] = node;
    return GAIT_OK;
}

int dag_add_edge(struct dag *dag, uint32_t from, uint32_t to, uint8_t kind)
{
    if (from == DAG_NO_NODE || to == DAG_NO_NODE)
        return GAIT_OK;
    return ARRAY_ADD(dag->edges, dag->edge_count, dag->edge_capacity, MOST_NODES,
                     &(struct dag_edge){0, from, to, kind});
}

static int64_t end_of(const struct dag *dag, uint32_t node)
{
    return dag->nodes[node].start_ns + dag->nodes[node].work_ns;
}

// --- order -----------------------------------------------------------------------------

struct placed {
    int64_t end_ns, start_ns;
    uint32_t node;
};

// Nodes of no length at one moment are in the order in which they were added.
ARRAY_BY3(by_place, struct placed, end_ns, start_ns, node)

static struct placed place_of(const struct dag *dag, uint32_t node)
{
    return (struct placed){end_of(dag, node), dag->nodes[node].start_ns, node};
}

static int find_order(struct dag *dag)
{
    struct placed *places = malloc((dag->count + 1) * sizeof *places);
    dag->order = malloc((dag->count + 1) * sizeof *dag->order);
    if (!places || !dag->order) {
        free(places);
        return fail(GAIT_ERR_MEMORY, "no memory for the order of %zu nodes", dag->count);
    }
    for (size_t i = 0; i < dag->count; i++)
        places[i] = place_of(dag, (uint32_t)i);
    ARRAY_SORT(places, dag->count, by_place);
    for (size_t i = 0; i < dag->count; i++)
        dag->order[i] = places[i].node;
    free(places);
    return GAIT_OK;
}

static bool can_be(const struct dag *dag, const struct dag_edge *edge)
{
    const struct placed from = place_of(dag, edge->from), to = place_of(dag, edge->to);
    return from.end_ns <= to.start_ns && by_place(&from, &to) < 0;
}

// A sort by counting: the edges of a node stay in the order in which they were added.
static int sort_edges(struct dag *dag)
{
    struct dag_edge *sorted = malloc((dag->edge_count + 1) * sizeof *sorted);
    dag->first_edge = calloc(dag->count + 2, sizeof *dag->first_edge);
    if (!sorted || !dag->first_edge) {
        free(sorted);
        return fail(GAIT_ERR_MEMORY, "no memory for %zu edges", dag->edge_count);
    }
    size_t *behind = dag->first_edge + 1;
    for (size_t i = 0; i < dag->edge_count; i++)
        behind[dag->edges[i].to]++;
    for (size_t i = 1; i <= dag->count; i++)
        dag->first_edge[i] += dag->first_edge[i - 1];
    for (size_t i = dag->edge_count; i-- > 0;)
        sorted[--behind[dag->edges[i].to]] = dag->edges[i];
    // each `behind` is now the first of its node
    memmove(dag->first_edge, behind, dag->count * sizeof *behind);
    dag->first_edge[dag->count] = dag->edge_count;
    free(dag->edges);
    dag->edges = sorted;
    return GAIT_OK;
}

int dag_settle(struct dag *dag)
{
    size_t kept = 0;
    int status = find_order(dag);
    if (status)
        return status;
    for (size_t i = 0; i < dag->edge_count; i++)
        if (can_be(dag, &dag->edges[i]))
            dag->edges[kept++] = dag->edges[i];
    dag->dropped = dag->edge_count - kept;
    dag->edge_count = kept;
    return sort_edges(dag);
}

// --- delays ----------------------------------------------------------------------------

static int64_t between(const struct dag *dag, const struct dag_edge *edge)
{
    return dag->nodes[edge->to].start_ns - end_of(dag, edge->from);
}

static void measure_node(struct dag *dag, size_t node, const int64_t *least_ns)
{
    struct dag_edge *binding = NULL;
    int64_t latest_ns = INT64_MIN;
    for (size_t at = dag->first_edge[node]; at < dag->first_edge[node + 1]; at++) {
        struct dag_edge *edge = &dag->edges[at];
        const int64_t gap_ns = between(dag, edge), least = least_ns[edge->kind];
        const int64_t ready_ns = end_of(dag, edge->from) + least;
        edge->lag_ns = gap_ns < least ? gap_ns : least;
        if (!binding || ready_ns > latest_ns) {
            binding = edge;
            latest_ns = ready_ns;
        }
    }
    if (binding)
        binding->lag_ns = between(dag, binding);
}

void dag_measure_lags(struct dag *dag)
{
    int64_t least_ns[DAG_KINDS];
    for (unsigned i = 0; i < DAG_KINDS; i++)
        least_ns[i] = INT64_MAX;
    for (size_t i = 0; i < dag->edge_count; i++) {
        const int64_t gap_ns = between(dag, &dag->edges[i]);
        if (gap_ns < least_ns[dag->edges[i].kind])
            least_ns[dag->edges[i].kind] = gap_ns;
    }
    for (size_t i = 0; i < dag->count; i++)
        measure_node(dag, i, least_ns);
}

// Work may be asked for that is longer than time.
static int64_t add(int64_t at_ns, int64_t ns)
{
    int64_t sum_ns;
    return __builtin_add_overflow(at_ns, ns, &sum_ns) ? INT64_MAX : sum_ns;
}

// --- replay ----------------------------------------------------------------------------

const struct dag_edge *dag_last_edge(const struct dag *dag, const int64_t *end_ns, uint32_t node)
{
    const struct dag_edge *last = NULL;
    for (size_t at = dag->first_edge[node]; at < dag->first_edge[node + 1]; at++) {
        const struct dag_edge *edge = &dag->edges[at];
        if (!last || add(end_ns[edge->from], edge->lag_ns) > add(end_ns[last->from], last->lag_ns))
            last = edge;
    }
    return last;
}

void dag_replay(const struct dag *dag, dag_work *work, const void *context, int64_t *ret_end_ns)
{
    for (size_t i = 0; i < dag->count; i++) {
        const uint32_t node = dag->order[i];
        const struct dag_edge *last = dag_last_edge(dag, ret_end_ns, node);
        const int64_t start_ns =
            last ? add(ret_end_ns[last->from], last->lag_ns) : dag->nodes[node].start_ns;
        ret_end_ns[node] = add(start_ns, work ? work(context, node) : dag->nodes[node].work_ns);
    }
}
