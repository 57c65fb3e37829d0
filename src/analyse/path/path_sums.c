// SPDX-License-Identifier: Apache-2.0
#include "analyse/path/path_sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"

enum { MOST_SUMS = 1 << 26 };

void path_sums_finish(struct path_sums *sums)
{
    free(sums->rows);
    *sums = (struct path_sums){.count = 0};
}

static int add(struct path_sums *sums, const struct path_sum *row)
{
    if (!row->ns)
        return GAIT_OK;
    return ARRAY_ADD(sums->rows, sums->count, sums->capacity, MOST_SUMS, row);
}

int path_sums_join(struct path_sums *sums, const struct path_sums *others)
{
    int status = GAIT_OK;
    for (size_t i = 0; i < others->count && !status; i++)
        status = add(sums, &others->rows[i]);
    return status;
}

// --- the path --------------------------------------------------------------------------

// Goes backward from the end of the step.
struct tracing {
    struct path_sums *sums;
    const struct path_graph *graph;
    int64_t start_ns, at_ns;
};

// What lasted from then to where the tracing stands, as far as it is of the step.
static int trace_back(struct tracing *tracing, int64_t from_ns, enum path_kind kind, uint32_t node)
{
    const struct path_node *of = &tracing->graph->nodes[node];
    const int64_t since_ns = from_ns > tracing->start_ns ? from_ns : tracing->start_ns;
    if (since_ns >= tracing->at_ns)
        return GAIT_OK;
    const struct path_sum row = {of->name, (uint64_t)tracing->at_ns - (uint64_t)since_ns, of->shard,
                                 (uint8_t)kind};
    tracing->at_ns = since_ns;
    return add(tracing->sums, &row);
}

int path_sums_add(struct path_sums *sums, const struct path_graph *graph, const int64_t *end_ns,
                  const struct path_step *step)
{
    struct tracing tracing = {sums, graph, step->start_ns, step->end_ns};
    uint32_t node = step->last;
    int status = GAIT_OK;
    while (!status) {
        const struct dag_edge *edge = dag_last_edge(&graph->dag, end_ns, node);
        status = trace_back(&tracing, graph->dag.nodes[node].start_ns,
                            (enum path_kind)graph->nodes[node].kind, node);
        if (status || tracing.at_ns <= tracing.start_ns)
            return status;
        if (!edge) // what it waited for is not on record
            return trace_back(&tracing, tracing.start_ns, PATH_UNKNOWN, node);
        status = trace_back(&tracing, end_ns[edge->from], (enum path_kind)edge->kind, node);
        node = edge->from;
    }
    return status;
}

// --- order -----------------------------------------------------------------------------

static int by_key(const void *left, const void *right)
{
    const struct path_sum *a = left, *b = right;
    RETURN_IF_APART(a->kind, b->kind);
    RETURN_IF_APART(a->shard, b->shard);
    return strcmp(a->name, b->name);
}

static int by_time(const void *left, const void *right)
{
    const struct path_sum *a = left, *b = right;
    RETURN_IF_APART(b->ns, a->ns);
    return by_key(left, right);
}

void path_sums_settle(struct path_sums *sums)
{
    size_t kept = 0;
    if (!sums->count)
        return;
    qsort(sums->rows, sums->count, sizeof *sums->rows, by_key);
    for (size_t i = 0; i < sums->count; i++)
        if (kept && by_key(&sums->rows[kept - 1], &sums->rows[i]) == 0)
            sums->rows[kept - 1].ns += sums->rows[i].ns;
        else
            sums->rows[kept++] = sums->rows[i];
    sums->count = kept;
    qsort(sums->rows, sums->count, sizeof *sums->rows, by_time);
}

uint64_t path_sums_total(const struct path_sums *sums)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < sums->count; i++)
        ns += sums->rows[i].ns;
    return ns;
}

// --- replays ---------------------------------------------------------------------------

struct wish {
    const struct path_graph *graph;
    const struct path_scales *scales;
    path_mask wanted;
};

static int64_t work_of(const void *context, uint32_t node)
{
    const struct wish *wish = context;
    const int64_t work_ns = wish->graph->dag.nodes[node].work_ns;
    const path_mask met = wish->graph->nodes[node].mask;
    if (!(met & wish->wanted))
        return work_ns;
    const double ns = (double)work_ns * path_scales_factor(wish->scales, met, wish->wanted);
    return ns < (double)DAG_MOST_NS ? llround(ns) : DAG_MOST_NS;
}

int path_replay(const struct path_graph *graph, const struct path_scales *scales, path_mask wanted,
                int64_t **ret_end_ns)
{
    const struct wish wish = {graph, scales, wanted};
    int64_t *end_ns = malloc((graph->dag.count + 1) * sizeof *end_ns);
    if (!end_ns)
        return fail(GAIT_ERR_MEMORY, "no memory for a replay of %zu pieces", graph->dag.count);
    dag_replay(&graph->dag, wanted ? work_of : NULL, &wish, end_ns);
    *ret_end_ns = end_ns;
    return GAIT_OK;
}

uint64_t path_replay_step(const int64_t *end_ns, const struct path_step *step)
{
    const int64_t start_ns = step->first == DAG_NO_NODE ? step->start_ns : end_ns[step->first];
    return end_ns[step->last] > start_ns ? (uint64_t)end_ns[step->last] - (uint64_t)start_ns : 0;
}
