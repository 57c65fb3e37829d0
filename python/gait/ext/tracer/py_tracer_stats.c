// SPDX-License-Identifier: Apache-2.0
// The call tree of one action, folded into functions and who called them. Of a
// function that runs inside itself only the outermost call's time counts.
#include "tracer/py_tracer_stats.h"

#include <stdlib.h>
#include <string.h>

struct sums {
    int64_t calls, inner_calls; // those inside of the same, of all
    uint64_t ticks, own_ticks;  // own: less than nothing in between
    int64_t on_path;
};

struct entry {
    struct sums sums;
    const struct function *function;
    size_t first_edge; // + 1 in the list of edges; 0: nobody called it
};

struct edge {
    struct sums sums;
    size_t caller, callee, next;
};

// Where the walk is: the entry (+ 1) and the edge (+ 1) of each node above.
struct step {
    size_t entry, edge;
};

struct fold {
    struct entry *entries;
    size_t entry_count, entry_room;
    struct edge *edges;
    size_t edge_count, edge_room;
    size_t *edge_table, edge_table_size;
    struct step *path;
    size_t path_room;
    int depth;
};

static void fold_finish(struct fold *fold)
{
    free(fold->entries);
    free(fold->edges);
    free(fold->edge_table);
    free(fold->path);
}

// Room for one more in a list that doubles.
static int grow(void **list, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return 0;
    size_t wanted = *room ? 2 * *room : 64;
    void *grown = realloc(*list, wanted * size);
    if (!grown)
        return -1;
    *list = grown;
    *room = wanted;
    return 0;
}

static size_t add_entry(struct fold *fold, struct function *function)
{
    if (function->place)
        return function->place;
    if (grow((void **)&fold->entries, fold->entry_count, &fold->entry_room, sizeof(struct entry)))
        return 0;
    fold->entries[fold->entry_count] = (struct entry){.function = function};
    function->place = ++fold->entry_count;
    return function->place;
}

static size_t *find_edge(const struct fold *fold, size_t caller, size_t callee)
{
    size_t mask = fold->edge_table_size - 1;
    size_t at = (caller * 0x9E3779B97F4A7C15u ^ callee * 0xC2B2AE3D27D4EB4Fu) >> 20 & mask;
    for (; fold->edge_table[at]; at = (at + 1) & mask) {
        const struct edge *edge = &fold->edges[fold->edge_table[at] - 1];
        if (edge->caller == caller && edge->callee == callee)
            break;
    }
    return &fold->edge_table[at];
}

static int grow_edge_table(struct fold *fold)
{
    if (fold->edge_count * 2 < fold->edge_table_size)
        return 0;
    size_t size = fold->edge_table_size ? 2 * fold->edge_table_size : 256;
    size_t *table = calloc(size, sizeof *table);
    if (!table)
        return -1;
    free(fold->edge_table);
    fold->edge_table = table;
    fold->edge_table_size = size;
    for (size_t i = 0; i < fold->edge_count; i++)
        *find_edge(fold, fold->edges[i].caller, fold->edges[i].callee) = i + 1;
    return 0;
}

static size_t add_edge(struct fold *fold, size_t caller, size_t callee)
{
    if (grow_edge_table(fold) ||
        grow((void **)&fold->edges, fold->edge_count, &fold->edge_room, sizeof(struct edge)))
        return 0;
    size_t *slot = find_edge(fold, caller, callee);
    const size_t known = *slot;
    if (known)
        return known;
    struct entry *entry = &fold->entries[callee - 1];
    fold->edges[fold->edge_count] =
        (struct edge){.caller = caller, .callee = callee, .next = entry->first_edge};
    *slot = entry->first_edge = ++fold->edge_count;
    return *slot;
}

static void add_call(struct sums *sums, const struct tree_node *node)
{
    sums->calls += (int64_t)node->calls;
    sums->own_ticks += node->ticks;
    if (sums->on_path++)
        sums->inner_calls += (int64_t)node->calls;
    else
        sums->ticks += node->ticks;
}

// Leaves the nodes of the path that are not above `depth`.
static void climb(struct fold *fold, int depth)
{
    while (fold->depth >= depth) {
        const struct step *step = &fold->path[fold->depth--];
        if (step->entry)
            fold->entries[step->entry - 1].sums.on_path--;
        if (step->edge)
            fold->edges[step->edge - 1].sums.on_path--;
    }
}

static int add_node(struct fold *fold, const struct tree_node *node, int depth,
                    struct function *function)
{
    climb(fold, depth);
    while (fold->path_room < (size_t)depth + 1)
        if (grow((void **)&fold->path, fold->path_room, &fold->path_room, sizeof(struct step)))
            return -1;
    struct step *step = &fold->path[depth];
    *step = (struct step){0, 0};
    fold->depth = depth;
    if (!function)
        return 0;
    step->entry = add_entry(fold, function);
    if (!step->entry || !fold->entries)
        return -1;
    add_call(&fold->entries[step->entry - 1].sums, node);
    const struct step *above = &fold->path[depth - 1];
    size_t caller = above->entry;
    if (!caller)
        return 0;
    fold->entries[caller - 1].sums.own_ticks -= node->ticks;
    if (above->edge)
        fold->edges[above->edge - 1].sums.own_ticks -= node->ticks;
    step->edge = add_edge(fold, caller, step->entry);
    if (!step->edge || !fold->edges)
        return -1;
    add_call(&fold->edges[step->edge - 1].sums, node);
    return 0;
}

// --- which nodes an action has ---

// What is asked for: the calls of an action (NULL: all), but for those of another
// one inside it.
struct question {
    const struct trace_action *action, *apart;
};

static int holds(const struct tree_node *context, const void *action)
{
    while (context && context->key != action)
        context = context->parent;
    return context != NULL;
}

// Marks the contexts that are asked for.
static void mark_contexts(struct tracer *tracer, const struct question *question)
{
    const struct trace_action *action = question->action, *apart = question->apart;
    int depth = 0;
    for (struct tree_node *at = tracer->no_context;
         (at = tree_next(at, tracer->no_context, &depth));)
        at->is_known = (!action || holds(at, action)) && (!apart || !holds(at, apart));
}

static int fold_thread(struct fold *fold, const struct tracer *tracer, const struct tree_node *root)
{
    int depth = 0;
    fold->path[0] = (struct step){0, 0};
    fold->depth = 0;
    for (struct tree_node *at = (struct tree_node *)root; (at = tree_next(at, root, &depth));) {
        const struct tree_node *context = at->context;
        int is_in = context && context->is_known && at->is_known;
        struct function *function = is_in ? functions_find(&tracer->functions, at->key) : NULL;
        if (add_node(fold, at, depth, function))
            return -1;
    }
    climb(fold, 1);
    return 0;
}

// Frames that are open count as calls so far: settled before, taken back after.
static void count_open_frames(struct tracer *tracer, int is_before, uint64_t now)
{
    for (struct stack *stack = tracer->stacks.first; stack; stack = stack->next) {
        for (struct stack_frame *frame = stack->top; frame > stack->base; frame--) {
            frame->node->calls += is_before ? 1u : UINT64_MAX;
            if (!is_before)
                continue;
            frame->node->ticks += now - frame->start;
            frame->start = now;
        }
    }
}

static int fold_answer(struct fold *fold, struct tracer *tracer, const struct question *question)
{
    fold->path = calloc(64, sizeof *fold->path);
    fold->path_room = 64;
    if (!fold->path)
        return -1;
    for (size_t i = 0; i < tracer->functions.table_size; i++)
        if (tracer->functions.table[i])
            tracer->functions.table[i]->place = 0;
    mark_contexts(tracer, question);
    int failed = 0;
    count_open_frames(tracer, 1, py_clock_now());
    for (const struct stack *stack = tracer->stacks.first; stack && !failed; stack = stack->next)
        failed = fold_thread(fold, tracer, stack->base->node);
    count_open_frames(tracer, 0, 0);
    return failed;
}

// --- as Python sees it ---

// Processors whose counters differ by a tick or two may make a little less than
// nothing.
static double seconds_of(uint64_t ticks, double tick)
{
    return (int64_t)ticks < 0 ? 0.0 : (double)ticks * tick;
}

static PyObject *callers_of(const struct fold *fold, const struct entry *entry, double tick)
{
    PyObject *callers = PyList_New(0);
    for (size_t at = entry->first_edge; callers && at; at = fold->edges[at - 1].next) {
        const struct edge *edge = &fold->edges[at - 1];
        const struct sums *sums = &edge->sums;
        PyObject *row = Py_BuildValue(
            "(nLLdd)", (Py_ssize_t)edge->caller - 1, sums->calls, sums->calls - sums->inner_calls,
            seconds_of(sums->own_ticks, tick), seconds_of(sums->ticks, tick));
        if (!row || PyList_Append(callers, row))
            Py_CLEAR(callers);
        Py_XDECREF(row);
    }
    return callers;
}

static PyObject *row_of(const struct fold *fold, const struct entry *entry, double tick)
{
    const struct sums *sums = &entry->sums;
    PyObject *label = function_label(entry->function);
    PyObject *callers = label ? callers_of(fold, entry, tick) : NULL;
    if (!callers) {
        Py_XDECREF(label);
        return NULL;
    }
    return Py_BuildValue("(NLLddN)", label, sums->calls - sums->inner_calls, sums->calls,
                         seconds_of(sums->own_ticks, tick), seconds_of(sums->ticks, tick), callers);
}

static PyObject *rows_of(const struct fold *fold)
{
    double tick = py_clock_tick_seconds();
    PyObject *rows = PyList_New((Py_ssize_t)fold->entry_count);
    for (size_t i = 0; rows && i < fold->entry_count; i++) {
        PyObject *row = row_of(fold, &fold->entries[i], tick);
        if (row)
            PyList_SET_ITEM(rows, (Py_ssize_t)i, row);
        else
            Py_CLEAR(rows);
    }
    return rows;
}

// The action of a name; NULL for None, and with an exception for one that is not there.
static const struct trace_action *action_of(const struct tracer *tracer, PyObject *name)
{
    if (name == Py_None)
        return NULL;
    PyObject *place = PyDict_GetItemWithError(tracer->names, name);
    if (!place && !PyErr_Occurred())
        PyErr_SetObject(PyExc_KeyError, name);
    return place ? tracer->actions[PyLong_AsSize_t(place)] : NULL;
}

PyObject *py_tracer_stats(PyObject *self, PyObject *args)
{
    struct tracer *tracer = (struct tracer *)self;
    PyObject *name, *apart = Py_None;
    if (!PyArg_ParseTuple(args, "O|O", &name, &apart))
        return NULL;
    struct question question = {.action = action_of(tracer, name)};
    if (!PyErr_Occurred())
        question.apart = action_of(tracer, apart);
    if (PyErr_Occurred())
        return NULL;
    struct fold fold = {0};
    PyObject *rows = fold_answer(&fold, tracer, &question) ? PyErr_NoMemory() : rows_of(&fold);
    fold_finish(&fold);
    return rows;
}

PyObject *py_tracer_actions(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct tracer *tracer = (struct tracer *)self;
    PyObject *names = PyList_New(0);
    for (size_t i = 0; names && i < tracer->action_count; i++)
        if (tracer->actions[i]->starts && PyList_Append(names, tracer->actions[i]->name))
            Py_CLEAR(names);
    return names;
}
