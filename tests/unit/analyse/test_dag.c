// SPDX-License-Identifier: Apache-2.0
// Replays and critical paths of random small graphs, beside a walk along each of their paths.
#include "analyse/path/dag.h"
#include "support/random_values.h"
#include "support/tap.h"

enum { GRAPHS = 10000, MOST_NODES = 9, KINDS = 4 };

static struct random_values values = {88172645463325252u};

static int64_t random_ns(uint64_t most)
{
    return (int64_t)random_below(&values, most + 1);
}

// A schedule that could have been: nodes start some time after all that they wait for.
static void random_graph(struct dag *dag)
{
    const uint32_t count = 1 + (uint32_t)random_below(&values, MOST_NODES);
    *dag = (struct dag){.count = 0};
    for (uint32_t node = 0; node < count; node++) {
        struct dag_node times = {random_ns(20), random_ns(9)};
        uint32_t number, wanted = 0;
        for (uint32_t from = 0; from < node; from++)
            if (random_below(&values, 3) == 0) {
                const int64_t end_ns = dag->nodes[from].start_ns + dag->nodes[from].work_ns;
                wanted |= 1u << from;
                times.start_ns = end_ns > times.start_ns ? end_ns + random_ns(2) : times.start_ns;
            }
        ok(!dag_add_node(dag, times, &number) && number == node);
        for (uint32_t from = 0; from < node; from++)
            if (wanted & 1u << from)
                ok(!dag_add_edge(dag, from, node, (uint8_t)random_below(&values, KINDS)));
    }
    ok(!dag_settle(dag));
    is_int((int64_t)dag->dropped, 0);
}

// The length of the longest of all paths to a node's end, each walked by itself. From where
// it begins, a path is as long as its work and its delays.
static int64_t longest(const struct dag *dag, uint32_t node, int64_t behind_ns)
{
    int64_t most_ns = INT64_MIN;
    behind_ns += dag->nodes[node].work_ns;
    for (size_t i = 0; i < dag->edge_count; i++)
        if (dag->edges[i].to == node) {
            const int64_t ns = longest(dag, dag->edges[i].from, behind_ns + dag->edges[i].lag_ns);
            most_ns = ns > most_ns ? ns : most_ns;
        }
    return most_ns == INT64_MIN ? dag->nodes[node].start_ns + behind_ns : most_ns;
}

// The sum along the critical path, back to where it begins.
static int64_t along_path(const struct dag *dag, const int64_t *end_ns, uint32_t node)
{
    int64_t sum_ns = 0;
    for (;;) {
        const struct dag_edge *edge = dag_last_edge(dag, end_ns, node);
        sum_ns += dag->nodes[node].work_ns;
        if (!edge)
            return sum_ns + dag->nodes[node].start_ns;
        sum_ns += edge->lag_ns;
        node = edge->from;
    }
}

TEST("dag: ends and critical paths of 10,000 random graphs are the longest of all paths")
{
    int64_t end_ns[MOST_NODES];
    size_t wrong = 0;
    for (unsigned i = 0; i < GRAPHS; i++) {
        struct dag dag;
        random_graph(&dag);
        for (size_t edge = 0; edge < dag.edge_count; edge++)
            dag.edges[edge].lag_ns = random_ns(5); // any, not as measured
        dag_replay(&dag, NULL, NULL, end_ns);
        for (uint32_t node = 0; node < dag.count; node++) {
            const int64_t want_ns = longest(&dag, node, 0);
            wrong += end_ns[node] != want_ns;
            wrong += along_path(&dag, end_ns, node) != want_ns;
        }
        dag_finish(&dag);
    }
    is_int((int64_t)wrong, 0);
}

TEST("dag: with the delays that were measured, a replay is what was measured")
{
    int64_t end_ns[MOST_NODES];
    size_t wrong = 0;
    for (unsigned i = 0; i < GRAPHS; i++) {
        struct dag dag;
        random_graph(&dag);
        dag_measure_lags(&dag);
        dag_replay(&dag, NULL, NULL, end_ns);
        for (uint32_t node = 0; node < dag.count; node++)
            wrong += end_ns[node] != dag.nodes[node].start_ns + dag.nodes[node].work_ns;
        dag_finish(&dag);
    }
    is_int((int64_t)wrong, 0);
}

static int64_t no_work(const void *context, uint32_t node)
{
    (void)context;
    return node == 1 ? 0 : 10;
}

TEST("dag: less work of one makes way for the other that was waited for")
{
    // 0 and 1 begin together; 2 waits for both, 1 is the longer one
    const struct dag_node nodes[] = {{0, 10}, {0, 30}, {31, 10}};
    struct dag dag = {.count = 0};
    uint32_t number;
    int64_t end_ns[3];
    for (size_t i = 0; i < 3; i++)
        ok(!dag_add_node(&dag, nodes[i], &number));
    ok(!dag_add_edge(&dag, 0, 2, 0));
    ok(!dag_add_edge(&dag, 1, 2, 0));
    ok(!dag_add_edge(&dag, 2, 1, 0)); // against time: dropped
    ok(!dag_settle(&dag));
    is_int((int64_t)dag.dropped, 1);
    dag_measure_lags(&dag);
    dag_replay(&dag, NULL, NULL, end_ns);
    is_int(end_ns[2], 41);
    is_int((int64_t)dag_last_edge(&dag, end_ns, 2)->from, 1);
    dag_replay(&dag, no_work, NULL, end_ns);
    is_int(end_ns[2], 21); // 10, the delay of 1, and 10
    is_int((int64_t)dag_last_edge(&dag, end_ns, 2)->from, 0);
    dag_finish(&dag);
}
