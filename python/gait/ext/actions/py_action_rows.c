// SPDX-License-Identifier: Apache-2.0
// Sums over the call tree, taken when somebody asks.
#include "actions/py_action_rows.h"

#include <math.h>

#include "core/py_clock.h"

#define TICKS_MAX 8e18 // what is above is all in one class

static int runs_inside_itself(const struct tree_node *node)
{
    for (const struct tree_node *above = node->parent; above; above = above->parent)
        if (above->key == node->key)
            return 1;
    return 0;
}

static void add_node(const struct tree_node *node)
{
    struct action_totals *totals = &((struct action *)node->key)->totals;
    totals->calls += node->calls;
    totals->ticks += node->ticks;
    totals->own_ticks += node->own_ticks;
    if (!runs_inside_itself(node))
        totals->outer_ticks += node->ticks;
}

static void sum_nodes(const struct actions *actions)
{
    for (size_t i = 0; i < actions->count; i++)
        actions->list[i]->totals = (struct action_totals){0};
    for (const struct stack *stack = actions->stacks.first; stack; stack = stack->next) {
        const struct tree_node *root = stack->base->node;
        int depth = 0;
        for (const struct tree_node *at = root; (at = tree_next(at, root, &depth));)
            add_node(at);
    }
}

static double quantile(const struct action *action, double share, const double bounds[2],
                       double tick)
{
    const double ticks = py_histogram_quantile(&action->histogram, share);
    double value = ticks * tick;
    if (action->told_calls && ticks > TICKS_MAX) // record() was told more than there are
        return bounds[1];
    if (action->told_calls && ticks < 1.0 && bounds[0] < 0.0)
        return bounds[0];
    return fmin(fmax(value, bounds[0]), bounds[1]);
}

static void find_bounds(const struct action *action, double tick, double ret_bounds[2])
{
    ret_bounds[0] = action->told_calls ? action->told_min : INFINITY;
    ret_bounds[1] = action->told_calls ? action->told_max : -INFINITY;
    if (action->min_ticks <= action->max_ticks) {
        ret_bounds[0] = fmin(ret_bounds[0], (double)action->min_ticks * tick);
        ret_bounds[1] = fmax(ret_bounds[1], (double)action->max_ticks * tick);
    }
}

static PyObject *row_of(const struct action *action, double tick)
{
    const struct action_totals *totals = &action->totals;
    uint64_t calls = totals->calls + action->told_calls;
    double measured = (double)totals->ticks * tick, told = py_sums_total(&action->told);
    double total = action->told_calls ? measured + told : measured;
    double mean = total / (double)calls, bounds[2];
    double squares = action->squares * tick * tick + action->told_squares;
    double variance = fmax(squares / (double)calls - mean * mean, 0.0);
    find_bounds(action, tick, bounds);
    return Py_BuildValue(
        "(OKddddddddd)", action->name, (unsigned long long)calls, total,
        (double)totals->own_ticks * tick + told, (double)totals->outer_ticks * tick + told,
        bounds[0], bounds[1], sqrt(variance), quantile(action, 0.5, bounds, tick),
        quantile(action, 0.95, bounds, tick), quantile(action, 0.99, bounds, tick));
}

PyObject *py_action_rows(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct actions *actions = (struct actions *)self;
    double tick = py_clock_tick_seconds();
    sum_nodes(actions);
    // making a row may collect garbage, and so let another thread complete one more
    const uint64_t completed = actions->completed;
    PyObject *rows = PyList_New((Py_ssize_t)completed);
    for (size_t i = 0; rows && i < actions->count; i++) {
        const struct action *action = actions->list[i];
        if (!action->order || action->order > completed)
            continue;
        PyObject *row = row_of(action, tick);
        if (row)
            PyList_SET_ITEM(rows, (Py_ssize_t)action->order - 1, row);
        else
            Py_CLEAR(rows);
    }
    return rows;
}

PyObject *py_action_tree(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct actions *actions = (struct actions *)self;
    double tick = py_clock_tick_seconds();
    PyObject *rows = PyList_New(0);
    for (const struct stack *stack = actions->stacks.first; rows && stack; stack = stack->next) {
        const struct tree_node *root = stack->base->node;
        int depth = 0;
        for (const struct tree_node *at = root; rows && (at = tree_next(at, root, &depth));) {
            PyObject *row = Py_BuildValue("(iOKdd)", depth - 1, ((struct action *)at->key)->name,
                                          (unsigned long long)at->calls, (double)at->ticks * tick,
                                          (double)at->own_ticks * tick);
            if (!row || PyList_Append(rows, row))
                Py_CLEAR(rows);
            Py_XDECREF(row);
        }
    }
    return rows;
}
