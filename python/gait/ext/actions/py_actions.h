// SPDX-License-Identifier: Apache-2.0
// gait.profilers.Simple without its tables: named actions that start and stop,
// nested, recursive, on any thread, in bounded memory for each name.
#ifndef GAIT_PY_ACTIONS_H
#define GAIT_PY_ACTIONS_H

#include "core/py_compat.h"

#include "actions/py_histogram.h"
#include "actions/py_sums.h"
#include "core/py_state.h"
#include "tracer/py_stack.h"

// What the nodes of one action add up to; filled when somebody asks.
struct action_totals {
    uint64_t calls, ticks, own_ticks, outer_ticks;
};

// What is known of one name. What start() and stop() measured lies in the tree,
// what record() was told lies here.
struct action {
    PyObject *name; // borrowed from the actions' dict
    uint64_t order; // by the first time it was complete; 0: not yet
    uint64_t open;  // how often it runs now, on all threads
    uint64_t min_ticks, max_ticks;
    double squares; // of ticks, for the standard deviation
    struct py_histogram histogram;
    struct py_sums told;
    uint64_t told_calls;
    double told_min, told_max, told_squares;
    struct action_totals totals;
};

#define ACTION_LINES 64
struct action_line {
    PyObject *name; // interned: one object for the life of its code
    struct action *action;
};

struct actions {
    PyObject ob_base;
    PyObject *timers; // name -> timer, the context manager that holds the action
    struct action_line lines[ACTION_LINES];
    struct action **list; // in the order in which they were met
    size_t count, room;
    struct action *others; // where names go that there is no room for
    uint64_t completed;    // the last `order`
    uint64_t refused;      // names that went to `others`
    PyTypeObject *timer_type;
    struct tree tree;
    struct stack_list stacks;
};

// Names made up at run time must not fill the memory.
#define ACTIONS_MAX 65536

int py_actions_add_types(PyObject *module, struct py_state *state);

#endif
