// SPDX-License-Identifier: Apache-2.0
#include "analyse/path/path_host.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/time/intervals.h"
#include "analyse/time/lower_bound.h"
#include "base/array.h"
#include "base/fail.h"

enum { MOST_DEPTH = 4096 };

// One thread over one time, cut where spans, phases and steps begin and end.
struct walk {
    const struct path_process *process;
    uint32_t track;
    struct path_list spans;
    const struct path_phase *phases;
    size_t phase_count, phase, step;
    uint32_t last; // the node before; DAG_NO_NODE at the beginning
    int64_t at_ns;
    const struct path_span **open; // the innermost last
    size_t depth;
    const struct path_list *engine;  // outermost spans of autograd's threads; NULL: it is one
    const struct path_phase *joined; // the communication that `last` is all of
};

static const struct path_site *site_of(const struct walk *walk, const struct path_span *span)
{
    return &walk->process->rows->sites->rows[span->site];
}

// --- nodes -----------------------------------------------------------------------------

static int add_node(struct walk *walk, const struct path_node *node, int64_t end_ns)
{
    struct path_graph *graph = walk->process->graph;
    const uint32_t before = walk->last;
    const struct dag_node times = {walk->at_ns, end_ns - walk->at_ns};
    int status = path_graph_add(graph, node, times, &walk->last);
    if (!status)
        status = dag_add_edge(&graph->dag, before, walk->last, PATH_NEXT);
    if (!status)
        status = path_graph_place(graph, walk->track, walk->last);
    walk->at_ns = end_ns;
    return status;
}

// A moment at which the thread goes on because other work has ended.
static int add_return(struct walk *walk, const struct path_node *node, uint32_t awaited,
                      enum path_kind kind)
{
    int status = add_node(walk, node, walk->at_ns);
    return status ? status
                  : dag_add_edge(&walk->process->graph->dag, awaited, walk->last, (uint8_t)kind);
}

// What the thread does now, by its innermost span that says it; else by its phase.
static struct path_node describe(const struct walk *walk, const struct path_phase *phase)
{
    struct path_node node = {.name =
                                 phase ? phase->name
                                 : walk->step < walk->process->step_count &&
                                         walk->process->steps[walk->step].start_ns <= walk->at_ns
                                     ? "step"
                                     : "between steps",
                             .shard = walk->process->shard,
                             .kind = PATH_HOST};
    node.mask = node.covers = phase ? phase->mask : 0;
    for (size_t i = 0; i < walk->depth; i++) {
        const struct path_site *site = site_of(walk, walk->open[i]);
        node.mask = (path_mask)(node.mask | site->name_mask);
        if (site->role != ROLE_RUNTIME)
            node.covers = (path_mask)(node.covers | site->name_mask);
        if (site->role == ROLE_OP || site->role == ROLE_ANNOTATION || i + 1 == walk->depth)
            node.mask = (path_mask)(node.mask | site->role_mask);
    }
    for (size_t i = walk->depth; i-- > 0;) {
        const struct path_site *site = site_of(walk, walk->open[i]);
        if (site->role == ROLE_PHASE && phase)
            continue;
        node.name = site->name;
        node.kind = site->role == ROLE_OP        ? PATH_OP
                    : site->role == ROLE_RUNTIME ? PATH_CALL
                                                 : PATH_HOST;
        break;
    }
    return node;
}

// --- waits for a device ----------------------------------------------------------------

static bool has(const char *name, const char *word)
{
    return strstr(name, word) != NULL;
}

// The device work that a call of the runtime waited for: of a copy its own, of a
// synchronisation what ended last while it lasted. NULL: it did not wait.
static const struct path_span *awaited(const struct walk *walk, const struct path_span *call)
{
    const struct path_devices *devices = &walk->process->devices;
    const char *name = site_of(walk, call)->name;
    const bool is_copy = has(name, "emcpy");
    if (!is_copy && !has(name, "Synchronize"))
        return NULL;
    size_t low = 0, high = devices->rows->count;
    while (low < high) { // the first that ends behind the call
        const size_t middle = low + (high - low) / 2;
        if (devices->rows->rows[devices->by_end[middle]].end_ns <= call->end_ns)
            low = middle + 1;
        else
            high = middle;
    }
    while (low-- > 0) {
        const struct path_span *work = &devices->rows->rows[devices->by_end[low]];
        if (work->end_ns <= call->start_ns)
            return NULL;
        if (!is_copy || work->link == call->link)
            return work;
    }
    return NULL;
}

static uint32_t node_of(const struct walk *walk, const struct path_span *work)
{
    const struct path_devices *devices = &walk->process->devices;
    return devices->first_node + (uint32_t)(work - devices->rows->rows);
}

// --- autograd's thread -----------------------------------------------------------------

static int walk_engine(struct walk *walk, struct interval busy, uint32_t track);

// While the thread is in nothing that works and autograd's thread ran from beginning to end
// within that time, the one waits for the other.
static int hand_over(struct walk *walk, const struct path_node *node, int64_t until_ns)
{
    const struct path_list *engine = walk->engine;
    struct interval busy = {INT64_MAX, INT64_MIN};
    uint32_t track = 0;
    int status = GAIT_OK;
    if (!engine->count || node->kind != PATH_HOST)
        return GAIT_OK;
    size_t at =
        lower_bound(&engine->rows->start_ns, engine->count, sizeof *engine->rows, walk->at_ns);
    for (; at < engine->count && engine->rows[at].start_ns < until_ns; at++) {
        const struct path_span *span = &engine->rows[at];
        if (span->end_ns > until_ns || (busy.end_ns != INT64_MIN && span->track != track))
            continue;
        busy.start_ns = busy.end_ns == INT64_MIN ? span->start_ns : busy.start_ns;
        busy.end_ns = span->end_ns;
        track = span->track;
    }
    if (busy.end_ns <= busy.start_ns)
        return GAIT_OK;
    if (busy.start_ns > walk->at_ns)
        status = add_node(walk, node, busy.start_ns);
    return status ? status : walk_engine(walk, busy, track);
}

// --- pieces ----------------------------------------------------------------------------

// One piece, in which nothing begins or ends.
static int add_piece(struct walk *walk, const struct path_phase *phase, int64_t until_ns)
{
    struct path_node node = describe(walk, phase);
    struct path_graph *graph = walk->process->graph;
    const struct path_span *top = walk->depth ? walk->open[walk->depth - 1] : NULL, *work;
    int status = GAIT_OK;
    if (phase && phase->is_communication && walk->engine && !walk->process->has_kernels) {
        if (walk->joined == phase) {
            graph->dag.nodes[walk->last].work_ns += until_ns - walk->at_ns;
            graph->places[graph->place_count - 1].end_ns = until_ns;
            walk->at_ns = until_ns;
            return GAIT_OK;
        }
        node = (struct path_node){phase->name, node.shard, PATH_COLLECTIVE, node.mask, node.covers};
        walk->joined = phase;
        status = add_node(walk, &node, until_ns);
        return status ? status
                      : path_graph_collective(
                            graph, &(struct path_collective){
                                       .step = walk->step < walk->process->step_count
                                                   ? walk->process->steps[walk->step].number
                                                   : UINT64_MAX,
                                       .number = (uint64_t)phase->start_ns,
                                       .node = walk->last,
                                       .shard = walk->process->shard,
                                       .track = walk->track});
    }
    if (node.kind == PATH_CALL && top->start_ns == walk->at_ns && top->end_ns == until_ns &&
        (work = awaited(walk, top))) {
        walk->at_ns = until_ns;
        return add_return(walk, &node, node_of(walk, work), PATH_SYNC);
    }
    if (walk->engine)
        status = hand_over(walk, &node, until_ns);
    return status || walk->at_ns >= until_ns ? status : add_node(walk, &node, until_ns);
}

// Up to a moment at which a span begins or ends: by phases and steps.
static int go_to(struct walk *walk, int64_t until_ns)
{
    const struct path_process *process = walk->process;
    int status = GAIT_OK;
    while (walk->at_ns < until_ns && !status) {
        int64_t cut_ns = until_ns;
        const struct path_phase *phase = NULL;
        while (walk->phase < walk->phase_count && walk->phases[walk->phase].end_ns <= walk->at_ns)
            walk->phase++;
        while (walk->step < process->step_count && process->steps[walk->step].end_ns <= walk->at_ns)
            walk->step++;
        if (walk->phase < walk->phase_count) {
            const struct path_phase *next = &walk->phases[walk->phase];
            phase = next->start_ns <= walk->at_ns ? next : NULL;
            const int64_t edge_ns = phase ? next->end_ns : next->start_ns;
            cut_ns = edge_ns < cut_ns ? edge_ns : cut_ns;
        }
        if (walk->step < process->step_count && walk->engine) {
            const struct path_step *next = &process->steps[walk->step];
            const int64_t edge_ns = next->start_ns <= walk->at_ns ? next->end_ns : next->start_ns;
            cut_ns = edge_ns < cut_ns ? edge_ns : cut_ns;
        }
        status = add_piece(walk, phase, cut_ns);
    }
    return status;
}

// Ends what ends by then.
static int close_until(struct walk *walk, int64_t at_ns)
{
    int status = GAIT_OK;
    while (walk->depth && walk->open[walk->depth - 1]->end_ns <= at_ns && !status) {
        status = go_to(walk, walk->open[walk->depth - 1]->end_ns);
        walk->depth--;
    }
    return status;
}

// A span that ends behind the one around it ends with that one.
static int walk_spans(struct walk *walk, int64_t until_ns)
{
    int status = GAIT_OK;
    for (size_t i = 0; i < walk->spans.count && !status; i++) {
        const struct path_span *span = &walk->spans.rows[i];
        if (span->end_ns <= walk->at_ns || span->end_ns == span->start_ns)
            continue;
        if (span->start_ns >= until_ns)
            break;
        status = close_until(walk, span->start_ns);
        if (!status)
            status = go_to(walk, span->start_ns);
        if (walk->depth < MOST_DEPTH &&
            (!walk->depth || span->end_ns <= walk->open[walk->depth - 1]->end_ns))
            walk->open[walk->depth++] = span;
    }
    if (!status)
        status = close_until(walk, until_ns);
    return status ? status : go_to(walk, until_ns);
}

// The thread as far as it worked, from the node that it was waited in.
static int walk_engine(struct walk *walk, struct interval busy, uint32_t track)
{
    const struct path_process *process = walk->process;
    struct walk inner = *walk;
    const struct path_node back = {"autograd", process->shard, PATH_HOST, 0, 0};
    const uint32_t before = walk->last;
    inner.track = track;
    inner.spans = path_rows_track(process->rows, track);
    inner.last = DAG_NO_NODE;
    inner.engine = NULL;
    inner.depth = 0;
    inner.at_ns = busy.start_ns;
    inner.open = malloc(MOST_DEPTH * sizeof *inner.open);
    if (!inner.open)
        return fail(GAIT_ERR_MEMORY, "no memory for the spans of a thread");
    const uint32_t first = (uint32_t)process->graph->dag.count;
    int status = walk_spans(&inner, busy.end_ns);
    free(inner.open);
    if (!status)
        status = dag_add_edge(&process->graph->dag, before, first, PATH_THREAD);
    walk->at_ns = busy.end_ns;
    return status ? status : add_return(walk, &back, inner.last, PATH_THREAD);
}

// --- of a process ----------------------------------------------------------------------

ARRAY_BY1(by_start, struct path_span, start_ns)

static int add_outer(struct path_list *engine, const struct path_list *track)
{
    int64_t end_ns = INT64_MIN;
    int status = GAIT_OK;
    for (size_t i = 0; i < track->count && !status; i++) {
        if (track->rows[i].start_ns < end_ns)
            continue;
        end_ns = track->rows[i].end_ns;
        status = ARRAY_ADD(engine->rows, engine->count, engine->capacity, 1 << 28, &track->rows[i]);
    }
    return status;
}

// What the threads of autograd did, from outside.
static int find_engine(const struct path_process *process, struct path_list *engine)
{
    const struct path_list *host = &process->rows->host;
    int status = GAIT_OK;
    for (size_t i = 0, behind; i < host->count && !status; i = behind) {
        const struct path_list track = path_rows_track(process->rows, host->rows[i].track);
        bool is_engine = false;
        behind = i + track.count;
        for (size_t at = i; at < behind && !is_engine; at++)
            is_engine = process->rows->sites->rows[host->rows[at].site].is_engine;
        if (is_engine && host->rows[i].track != process->track)
            status = add_outer(engine, &track);
    }
    ARRAY_SORT(engine->rows, engine->count, by_start);
    return status;
}

int path_host_add(const struct path_process *process)
{
    struct path_list engine = {.count = 0};
    struct walk walk = {.process = process,
                        .track = process->track,
                        .spans = path_rows_track(process->rows, process->track),
                        .last = DAG_NO_NODE,
                        .at_ns = process->steps[0].start_ns,
                        .open = malloc(MOST_DEPTH * sizeof *walk.open),
                        .engine = &engine};
    walk.phases = path_marks_phases(&process->graph->marks, process->track, &walk.phase_count);
    int status = walk.open ? find_engine(process, &engine)
                           : fail(GAIT_ERR_MEMORY, "no memory for the spans of a thread");
    if (!status)
        status = walk_spans(&walk, process->steps[process->step_count - 1].end_ns);
    free(walk.open);
    free(engine.rows);
    return status;
}
