// SPDX-License-Identifier: Apache-2.0
// Critical paths of rows that are written down: each piece of a step is worked out by hand.
#define _GNU_SOURCE
#include "analyse/path/path_graph.h"

#include "analyse/path/path_sums.h"
#include "support/fact_splits.h"

enum { MM = 1, ADD, ENGINE, LAUNCH, SYNC, GEMM, COPY, STEP, OPEN };

static const struct literal_site sites[] = {
    {"cpu_op", "mm"},
    {"cpu_op", "add"},
    {"cpu_op", "autograd::engine::evaluate_function: MmBackward0"},
    {"cuda_runtime", "cudaLaunchKernel"},
    {"cuda_runtime", "cudaStreamSynchronize"},
    {"kernel", "gemm"},
    {"gpu_memcpy", "copy"},
    {"step", ""},
    {"cpu_op", "open"},
    {0}};

struct piece {
    enum path_kind kind;
    const char *name;
    uint64_t ns;
};

// The pieces of one step, the longest first.
static void is_path(const struct path_graph *graph, size_t step, const struct piece *wanted,
                    size_t count)
{
    const struct path_scales scales = {.count = 0};
    struct path_sums sums = {.count = 0};
    int64_t *end_ns = NULL;
    if (!ok(step < graph->marks.step_count) || !ok(!path_replay(graph, &scales, 0, &end_ns)) ||
        !ok(!path_sums_add(&sums, graph, end_ns, &graph->marks.steps[step])))
        return;
    path_sums_settle(&sums);
    is_u64(sums.count, count);
    for (size_t i = 0; i < count && i < sums.count; i++) {
        is_int(sums.rows[i].kind, wanted[i].kind);
        is_str(sums.rows[i].name, wanted[i].name);
        is_u64(sums.rows[i].ns, wanted[i].ns);
    }
    path_sums_finish(&sums);
    free(end_ns);
}

static bool make(struct path_graph *graph, struct gait_trace *trace)
{
    struct path_scales scales = {.count = 0};
    return ok(!path_graph_make(graph, trace, &scales));
}

// Of step 1, backward: 50 to its end, 50 until the host knew of gemm 2, gemm 2 and gemm 1, which
// follow each other, 150 from call 1 to gemm 1, and mm until call 1. What launched gemm 2 would
// have let it begin at 590: 140 after its call, the least that a launch takes here.
static void look_at_steps(struct gait_trace *trace)
{
    static const struct piece first[] = {{PATH_KERNEL, "gemm", 250 + 400},
                                         {PATH_LAUNCH, "gemm", 150},
                                         {PATH_OP, "mm", 100},
                                         {PATH_HOST, "other", 50},
                                         {PATH_SYNC, "cudaStreamSynchronize", 50}};
    static const struct piece second[] = {{PATH_HOST, "other", 50 + 200},
                                          {PATH_OP, "mm", 10 + 20},
                                          {PATH_CALL, "cudaLaunchKernel", 20}};
    struct path_graph graph;
    if (!make(&graph, trace) || !is_u64(graph.marks.step_count, 2))
        return;
    is_path(&graph, 0, first, 5);
    is_path(&graph, 1, second, 3);
    path_graph_finish(&graph);
}

TEST("path graph: a step leads through the device where the host waits for it")
{
    // step    |1----------------------------------------|        |2------------------|
    // thread  |mm------| |add-----|   |sync-----------|            |mm---|
    //           call 1     call 2                                    call 3
    // stream       |gemm 1-----------|gemm 2--------|                     |gemm 3----------|
    // open, an op that never ended, is of no path; gemm 3 outlives its step, which does not wait
    static const struct literal_row rows[] = {
        {1, STEP, 0, 1000, 1, 0, 0},          {1, MM, 0, 300, 0, 1, 0},
        {1, OPEN, 20, LITERAL_OPEN, 0, 0, 0}, {1, LAUNCH, 100, 200, 1, 2, 0},
        {1, ADD, 400, 600, 0, 1, 0},          {1, LAUNCH, 450, 500, 2, 2, 0},
        {1, SYNC, 700, 950, 0, 1, 0},         {1, STEP, 1200, 1500, 2, 0, 0},
        {1, MM, 1250, 1300, 0, 1, 0},         {1, LAUNCH, 1260, 1280, 3, 2, 0},
        {101, GEMM, 250, 650, 1, 0, 0},       {101, GEMM, 650, 900, 2, 0, 0},
        {101, GEMM, 1400, 1800, 3, 0, 0},     {0}};
    literal_each_split(sites, rows, look_at_steps);
}

// Backward from 500: the step; 60 until the host knew of gemm 2, which began when gemm 4 ended (so
// did the copy, which had begun before it); gemm 4, 80 behind its call; three calls, the step.
static void look_at_streams(struct gait_trace *trace)
{
    static const struct piece wanted[] = {{PATH_KERNEL, "gemm", 150 + 120},
                                          {PATH_LAUNCH, "gemm", 80},
                                          {PATH_HOST, "other", 50 + 10},
                                          {PATH_SYNC, "cudaStreamSynchronize", 60},
                                          {PATH_CALL, "cudaLaunchKernel", 10 + 10 + 10}};
    struct path_graph graph;
    if (!make(&graph, trace) || !is_u64(graph.marks.step_count, 1))
        return;
    is_path(&graph, 0, wanted, 5);
    path_graph_finish(&graph);
}

TEST("path graph: work waits for another stream's, of two that end together for the later one")
{
    // step      |1-----------------------------------------------------------|
    // thread     calls 1, 3, 2, 4                |sync----------------------|
    // stream 1                |copy 1-------------------|
    // stream 2                |g|gemm 3----------|      |gemm 2-----|
    // stream 3                      |gemm 4-------------|
    // thread 2  |mm-------------------------------------|      it launches nothing
    static const struct literal_row rows[] = {{1, STEP, 0, 500, 1, 0, 0},
                                              {1, LAUNCH, 10, 20, 1, 1, 0},
                                              {1, LAUNCH, 20, 30, 3, 1, 0},
                                              {1, LAUNCH, 30, 40, 2, 1, 0},
                                              {1, LAUNCH, 40, 50, 4, 1, 0},
                                              {1, SYNC, 200, 450, 0, 1, 0},
                                              {2, MM, 0, 240, 0, 0, 0},
                                              {101, COPY, 100, 240, 1, 0, 0},
                                              {102, GEMM, 105, 110, 3, 0, 0},
                                              {102, GEMM, 110, 200, 3, 0, 0},
                                              {102, GEMM, 240, 390, 2, 0, 0},
                                              {103, GEMM, 120, 240, 4, 0, 0},
                                              {0}};
    literal_each_split(sites, rows, look_at_streams);
}

static void look_at_engine(struct gait_trace *trace)
{
    static const struct piece wanted[] = {
        {PATH_HOST, "other", 20 + 15 + 15},
        {PATH_OP, "autograd::engine::evaluate_function: MmBackward0", 30},
        {PATH_OP, "add", 20}};
    struct path_graph graph;
    if (!make(&graph, trace) || !is_u64(graph.marks.step_count, 1))
        return;
    is_path(&graph, 0, wanted, 3);
    path_graph_finish(&graph);
}

TEST("path graph: autograd's thread works while the one that makes the steps does nothing")
{
    // step      |1--------------------------|
    // thread 1                    |add|
    // thread 2     |MmBackward|
    static const struct literal_row rows[] = {
        {1, STEP, 0, 100, 1, 0, 0}, {2, ENGINE, 20, 50, 0, 0, 0}, {1, ADD, 65, 85, 0, 1, 0}, {0}};
    literal_each_split(sites, rows, look_at_engine);
}

// Step 1, backward: 1000, 2000 until the host knew of gemm 2, which waited 10000 for the copy. Step
// 2: what follows the call that waited for nothing, the call, what follows the one that waited,
// gemm 3 twice with 10 between, of its way to the device what is of the step: the copy and gemm 2
// are too long over.
static void look_at_waits(struct gait_trace *trace)
{
    static const struct piece first[] = {
        {PATH_DEPENDENCY, "gemm", 10000}, {PATH_SYNC, "cudaStreamSynchronize", 2000},
        {PATH_HOST, "other", 1000 + 10},  {PATH_KERNEL, "gemm", 1000},
        {PATH_COPY, "copy", 900},         {PATH_LAUNCH, "copy", 90}};
    static const struct piece second[] = {
        {PATH_HOST, "other", 9500 + 6000},          {PATH_LAUNCH, "gemm", 2001},
        {PATH_SYNC, "cudaStreamSynchronize", 1000}, {PATH_KERNEL, "gemm", 490 + 499},
        {PATH_CALL, "cudaStreamSynchronize", 500},  {PATH_STREAM, "gemm", 10}};
    struct path_graph graph;
    if (!make(&graph, trace) || !is_u64(graph.marks.step_count, 2))
        return;
    is_path(&graph, 0, first, 6);
    is_path(&graph, 1, second, 6);
    path_graph_finish(&graph);
}

TEST("path graph: work waits for another stream's that ended 10 us before, not for what is older")
{
    // step      |1----------------------|       |2---------------------------------|
    // thread     calls 1, 2, 3   |sync---|         |sync---|       |sync| of nothing
    // stream 1    |copy 1|
    // stream 2                 |gemm 2|
    // stream 3                                    |gemm 3| |gemm 3|
    static const struct literal_row waits[] = {{1, STEP, 0, 15000, 1, 0, 0},
                                               {1, LAUNCH, 10, 20, 1, 1, 0},
                                               {1, LAUNCH, 20, 30, 2, 1, 0},
                                               {1, LAUNCH, 30, 40, 3, 1, 0},
                                               {1, SYNC, 11500, 14000, 0, 1, 0},
                                               {1, STEP, 20000, 40000, 2, 0, 0},
                                               {1, SYNC, 22300, 24000, 0, 1, 0},
                                               {1, SYNC, 30000, 30500, 0, 1, 0},
                                               {101, COPY, 100, 1000, 1, 0, 0},
                                               {102, GEMM, 11000, 12000, 2, 0, 0},
                                               {103, GEMM, 22001, 22500, 3, 0, 0},
                                               {103, GEMM, 22510, 23000, 3, 0, 0},
                                               {0}};
    literal_each_split(sites, waits, look_at_waits);
}
